"""Durations, such as `"5 minutes"` or a `timedelta`, as whole microseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from headrace.errors import DurationError

Duration = str | timedelta

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "min": "minute",
    "m": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*,?")
EXPECTED_DURATION = "expected a duration"
"""How the errors of durations begin."""
NEAR_EPOCH = 10 * 365 * 86_400 * 1_000_000
"""Times within ten years of 1970 are printed as seconds, as transcripts write them."""
_HINT = 'write a number and a unit, such as "30 seconds", "5 minutes" or "1 hour 30 minutes"'


def microseconds(duration: Duration, *, where: str = "") -> int:
    """Return a duration in microseconds, 0 or more.

    >>> microseconds("1 hour 30 minutes")
    5400000000
    >>> microseconds("1.5 s")
    1500000
    """
    if isinstance(duration, timedelta):
        return _reject_negative(duration // timedelta(microseconds=1), duration, where)
    if not isinstance(duration, str):
        raise DurationError(f"{EXPECTED_DURATION}, got {duration!r}", where=where, hint=_HINT)
    total, position = Fraction(0), 0
    while position < len(duration.rstrip()):
        part = _PART.match(duration, position)
        unit = _unit(part.group(2)) if part else None
        if part is None or unit is None:
            raise DurationError(f"{EXPECTED_DURATION}, got {duration!r}", where=where, hint=_HINT)
        total += Fraction(part.group(1)) * _UNITS[unit]
        position = part.end()
    if position == 0:
        raise DurationError(f"{EXPECTED_DURATION}, got an empty text", where=where, hint=_HINT)
    if total.denominator != 1:
        raise DurationError(f"{duration!r} is finer than a microsecond", where=where, hint=_HINT)
    return int(total)


def text(length: int) -> str:
    """Format a duration in microseconds with the largest unit that divides it.

    >>> text(5_400_000_000)
    '90 minutes'
    >>> text(0)
    '0 seconds'
    """
    if length == 0:
        return "0 seconds"
    unit = next(u for u in reversed(_UNITS) if length % _UNITS[u] == 0 and u != "week")
    count = length // _UNITS[unit]
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def format_seconds(length: int) -> str:
    """Format microseconds as decimal seconds.

    >>> format_seconds(1_500_000)
    '1.5'
    """
    return f"{(Decimal(length) / 1_000_000).normalize():f}"


def _unit(word: str) -> str | None:
    word = word.lower()
    if word in _SHORT:
        return _SHORT[word]
    singular = word.removesuffix("s")
    return singular if singular in _UNITS else None


def _reject_negative(length: int, duration: Duration, where: str) -> int:
    if length < 0:
        raise DurationError(f"expected a duration that is not negative, got {duration!r}", where=where)
    return length
