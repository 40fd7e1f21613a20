"""Bounds of the distance in event time between the rows of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from headrace.durations import Duration, microseconds, text
from headrace.errors import OptionError
from headrace.steps.grammar.problems import collect_errors

Within = Duration | Sequence[Duration]
Bounds = tuple[int, int]
"""The least and the greatest value of `right.ts - left.ts`, in microseconds."""


def bounds_of(within: Any, where: str = "") -> Bounds:
    """Return `within` as bounds of `right.ts - left.ts`: a distance, or the least and the greatest value.

    >>> bounds_of("15 minutes") == bounds_of(["-15 minutes", "15 minutes"])
    True

    Raises:
        OptionError: it is neither, or the first bound is greater than the second.
    """
    if isinstance(within, str | timedelta):
        distance = microseconds(within, where=where)
        return (-distance, distance)
    if not isinstance(within, list | tuple) or len(within) != 2:
        hint = 'such as "15 minutes" or ("-15 minutes", "0 seconds")'
        raise OptionError(f"expected a distance or two bounds, got {within!r}", where=where, hint=hint)
    lower, upper = (parse_bound(bound, where) for bound in within)
    if lower > upper:
        what = f"the first bound, {within[0]}, is greater than the second, {within[1]}"
        raise OptionError(what, where=where, hint="write the smaller bound of right.ts - left.ts first")
    return (lower, upper)


def parse_bound(bound: Any, where: str = "") -> int:
    """Return a bound in microseconds; it may be negative."""
    if isinstance(bound, timedelta) and bound < timedelta(0):
        return -microseconds(-bound, where=where)
    if isinstance(bound, str) and bound.strip().startswith("-"):
        return -microseconds(bound.strip()[1:], where=where)
    return microseconds(bound, where=where)


def format_bound(length: int) -> str:
    """Format a duration that may be negative."""
    return f"-{text(-length)}" if length < 0 else text(length)


def write_bounds(bounds: Bounds) -> Any:
    """Return the shortest form of `within`."""
    lower, upper = bounds
    return text(upper) if -lower == upper else [format_bound(lower), format_bound(upper)]


WithinValue = Annotated[
    Bounds,
    PlainValidator(lambda within: collect_errors(bounds_of, within, "")),
    PlainSerializer(write_bounds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"[0-9]\s*[a-zA-Z]+|\$\{"},
                {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            ]
        }
    ),
]
"""The bounds of an interval join in a document."""
