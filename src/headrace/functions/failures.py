"""Failures of user code: the reason with the line of the user's file, and the dead letter of a row."""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

ERROR_PREFIX = "headrace function"
"""Begins the message of a failure that ends the run; the driver finds it in Spark's error."""
EXPECTATION_PREFIX = "headrace expectation"
"""Begins the message of a row that violates a rule and ends the run."""
CANNOT_OPEN = "cannot open "
"""Follows the step in the message of a class that failed before its first row."""
ARROW, PANDAS, POLARS = "pyarrow", "pandas", "polars"
"""The libraries of frames that functions take."""
REASON, TRACEBACK = "reason", "traceback"
RAISED = (Exception, SystemExit)
"""Exceptions that fail a call of user code; `exit()` in a function must not end the worker silently."""
_INTERNAL_PATHS = (
    "headrace/functions/",
    "headrace/learning/",
    "headrace/models/",
    "headrace/processors/",
    "headrace\\functions\\",
    "asyncio/",
    "concurrent/futures/",
)


class WrongResult(Exception):  # noqa: N818 - reported by its message alone
    """A function returned a value that does not fit the declared output."""


@dataclass(frozen=True)
class Failure:
    """A call that raised or returned a wrong value."""

    reason: str
    traceback: str


def describe_failure(error: BaseException, definition: str) -> Failure:
    """Return the reason of an exception, with the last line of the user's code, and the user's traceback.

    If no user code was running, the reason ends with the definition: the text of `describe_definition`.
    """
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not _is_internal(frame.filename)
    ]
    last = frames[-1] if frames else None
    place = definition if last is None else f"{last.filename}:{last.lineno} in {last.name}"
    reason = str(error) if isinstance(error, WrongResult) else f"{type(error).__name__}: {error}".rstrip(": ")
    text = "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)])
    return Failure(f"{reason} ({place})", text)


def describe_definition(target: Any, name: str) -> str:
    """Return file, first line and name of a function, or of the method of a class that is called per row."""
    kind = target if isinstance(target, type) else type(target)
    methods = (target, getattr(kind, "__call__", None), getattr(kind, "process", None))  # noqa: B004
    codes = [code for method in methods if (code := _code_of(method)) is not None]
    return f"{codes[0].co_filename}:{codes[0].co_firstlineno} in {name}" if codes else name


def _code_of(function: Any) -> CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None) if inspect.isroutine(function) else None
    return code if isinstance(code, CodeType) else None


def _is_internal(file: str) -> bool:
    return any(part in file for part in _INTERNAL_PATHS)


def stop_message(step: str, row: Any, failure: Failure) -> str:
    """Return the message that ends a run with `on_error="fail"`; it must be one line."""
    text_of_row = repr(row)
    text_of_row = text_of_row if len(text_of_row) <= 300 else f"{text_of_row[:300]}..."
    return f"{ERROR_PREFIX} [{step}] {text_of_row}: {failure.reason}".replace("\n", " ")


def expectation_message(step: str) -> str:
    """Return the start of the message that ends a run with `on_fail="fail"`; the names of rules follow."""
    return f"{EXPECTATION_PREFIX} [{step}] a row violates "


def open_message(step: str, name: str, failure: Failure) -> str:
    """Return the message that ends a run because a class cannot be created or opened; it must be one line."""
    return f"{ERROR_PREFIX} [{step}] {CANNOT_OPEN}{name}: {failure.reason}".replace("\n", " ")


def dead_letter_names(names: list[str]) -> list[str]:
    """Return the input columns of a dead letter; one called `reason` or `traceback` is renamed.

    >>> dead_letter_names(["card", "reason"])
    ['card', 'input_reason']
    """
    return rename_reserved(names, (REASON, TRACEBACK))


def rename_reserved(names: Sequence[str], reserved: Sequence[str]) -> list[str]:
    """Return names with the prefix `input_` before those that are reserved for other columns."""
    taken = {*names, *reserved}
    result = []
    for column in names:
        name = column
        while column in reserved and name in taken:
            name = f"input_{name}"
        taken.add(name)
        result.append(name)
    return result
