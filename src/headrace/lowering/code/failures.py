"""Failures of user code that end a run, found in the errors of Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import UserCodeError
from headrace.functions.failures import MARK

if TYPE_CHECKING:
    from headrace.plan.graph import Graph

_MARKED = re.compile(rf"{MARK} \[(?P<step>.*?)\] (?P<what>.*)")
_HINT = 'on_error="divert" sends such rows to the step\'s `dead_letters` and continues'


def as_user_code_error(graph: Graph, error: BaseException) -> UserCodeError | None:
    """Return the failure of user code that Spark has wrapped; None for other errors."""
    match = _MARKED.search(str(error))
    if match is None:
        return None
    step = match["step"]
    where = graph.where(graph[step]) if step in graph.nodes else f"`{step}`"
    return UserCodeError(match["what"], where=where, hint=_HINT)
