"""Intervals of SQL as durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.durations import microseconds
from headrace.errors import DurationError

if TYPE_CHECKING:
    from sqlglot import expressions as exp

UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week")


def length_of(text: str) -> int | None:
    """Return the length of an interval such as `10 SECONDS` in microseconds; None if it is not one.

    >>> length_of("10 SECONDS"), length_of("1 year")
    (10000000, None)
    """
    try:
        return microseconds(text.strip().lower())
    except DurationError:
        return None


def interval_length(node: exp.Expr | None) -> int | None:
    """Return the length of `INTERVAL '10' SECOND` in microseconds; None if it is not an interval."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Paren):
        return interval_length(node.this)
    if isinstance(node, exp.Neg):
        length = interval_length(node.this)
        return None if length is None else -length
    if isinstance(node, exp.Literal):
        return length_of(node.name)
    if not isinstance(node, exp.Interval):
        return None
    number = node.this
    sign = -1 if isinstance(number, exp.Neg) else 1
    number = number.this if isinstance(number, exp.Neg) else number
    if not isinstance(number, exp.Literal):
        return None
    text, unit = number.name.strip(), node.args.get("unit")
    if text.startswith("-"):
        sign, text = -sign, text[1:]
    length = length_of(f"{text} {unit.name if unit is not None else ''}")
    return None if length is None else sign * length
