"""Check grouping sets against the columns of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.steps.facts import Facts
from headrace.steps.traits import Finding, unknown_columns

_KEYS = ("expand",)
_MOST = 30
"""The number of columns whose bits `grouping_id` has."""


def check_sets(sets: Sequence[Sequence[str]], facts: Facts) -> Iterator[Finding]:
    """Yield the problems of grouping sets."""
    names = tuple(dict.fromkeys(name for each in sets for name in each))
    yield from unknown_columns(names, facts.columns, "grouping", _KEYS)
    if not names:
        yield Finding(
            "the sets have no column", "remove expand: an aggregate without key_by is the total", _KEYS
        )
    if len(names) > _MOST:
        yield Finding(f"the sets have {len(names)} columns, at most {_MOST} are possible", "use fewer", _KEYS)
    if len({frozenset(each) for each in sets}) < len(sets):
        yield Finding("two grouping sets are equal, so that rows would count twice", "remove one", _KEYS)
    if facts.columns is not None and "grouping_id" in (name.lower() for name in facts.columns):
        yield Finding("the rows have a column `grouping_id` already", "rename it before", _KEYS)
