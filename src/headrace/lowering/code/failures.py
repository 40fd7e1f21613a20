"""Find failures of user code in errors of Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import ExpectationError, UserCodeError
from headrace.functions.failures import CANNOT_OPEN, ERROR_PREFIX, EXPECTATION_PREFIX

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_DIED = re.compile(r"headrace worker \[(?P<step>.*?)\] (?P<what>.*)")
_DIED_HINT = (
    "it exited, crashed, or was killed, for example because it used too much memory. No row is lost: the "
    "next run processes the micro-batch again"
)
_FAILED = re.compile(rf"{ERROR_PREFIX} \[(?P<step>.*?)\] (?P<what>.*)")
_FAILED_HINT = 'on_error="divert" sends such rows to the step\'s `dead_letters` and continues'
_VIOLATED = re.compile(rf"{EXPECTATION_PREFIX} \[(?P<step>.*?)\] (?P<what>[^\n]*?)(?: SQLSTATE|\n|$)")
_VIOLATED_HINT = 'on_fail="dead_letter" sends such rows to the step\'s `dead_letters` and continues'
_OPEN_HINT = "it failed before its first row. No row is lost: the next run processes the micro-batch again"


def as_user_code_error(graph: Graph, error: BaseException) -> UserCodeError | None:
    """Return the failure of user code in an error or its causes; None for other errors."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(str(cause))
        cause = cause.__cause__
    text = "\n".join(texts)
    failed, died, violated = _FAILED.search(text), _DIED.search(text), _VIOLATED.search(text)
    match = failed or died or violated
    if match is None:
        return None
    step = match["step"]
    where = graph.where(graph[step]) if step in graph.nodes else f"`{step}`"
    if match is violated:
        return ExpectationError(match["what"].strip(), where=where, hint=_VIOLATED_HINT)
    return UserCodeError(match["what"], where=where, hint=_hint(match["what"]) if failed else _DIED_HINT)


def _hint(what: str) -> str:
    return _OPEN_HINT if what.startswith(CANNOT_OPEN) else _FAILED_HINT
