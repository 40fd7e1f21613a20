"""The steps of a pattern as the rows of a form: name, contiguity, condition and repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VERBS = ("where", "next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
"""`where` is the condition of the first step."""
_FLAGS = ("one_or_more", "optional")


@dataclass(frozen=True)
class PatternRow:
    """One step."""

    name: str = ""
    verb: str = ""
    condition: str = ""
    repeats: str = ""
    """A number of times, `one_or_more` or `optional`; empty: once."""


def rows_of(value: Any) -> tuple[PatternRow, ...] | None:
    """Return the rows of a pattern; None if it has groups or options that the form does not show.

    >>> rows_of([{"small": "amount < 1"}, {"large": {"followed_by": "amount > 500", "times": 2}}])[1]
    PatternRow(name='large', verb='followed_by', condition='amount > 500', repeats='2')
    >>> rows_of([{"group": [{"a": "v > 1"}]}]) is None
    True
    """
    if value is None:
        return ()
    rows = [_row(item) for item in value] if isinstance(value, list) else [None]
    return None if None in rows else tuple(row for row in rows if row is not None)


def _row(item: Any) -> PatternRow | None:
    if not isinstance(item, Mapping) or len(item) != 1:
        return None
    [(name, details)] = item.items()
    if not isinstance(details, Mapping):
        details = {"where": details}
    verbs = [key for key in details if key in VERBS]
    others = {key: details[key] for key in details if key not in verbs}
    condition = details[verbs[0]] if len(verbs) == 1 else None
    if not isinstance(condition, str | int | float | bool) or len(others) > 1:
        return None
    repeats = _repeats(others)
    return None if repeats is None else PatternRow(str(name), verbs[0], _text(condition), repeats)


def _repeats(others: Mapping[str, Any]) -> str | None:
    if not others:
        return ""
    [(key, value)] = others.items()
    if key == "times" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return key if key in _FLAGS and value is True else None


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
