"""Aggregates over a changelog: some subtract a removed row, others store all values."""

from __future__ import annotations

import re

from headrace.steps.expressions import Named
from headrace.steps.facts import Facts
from headrace.steps.traits import StateBound

_CALL = re.compile(r"\b([a-z_]\w*)\s*\(\s*(distinct\b)?", re.IGNORECASE)
_SUBTRACT = ("count", "count_if")
_SUBTRACT_NUMBERS = ("sum", "avg", "mean")


def has_retractions(facts: Facts) -> bool:
    """Return True if rows can remove earlier ones: rows of a table, and panes that replace earlier panes."""
    return facts.change == "table" or (facts.change == "refinements" and not facts.adds)


def describe_retractions(aggregates: Named) -> str:
    """Describe how aggregates over a changelog process a removed row.

    >>> describe_retractions((("n", "count(*)"), ("total", "sum(v)"), ("best", "max(v)")))
    'n subtracts; total subtracts integers and decimals; best keeps its values'
    """
    return "; ".join(f"{name} {_retraction(item)}" for name, item in aggregates)


def _retraction(item: object) -> str:
    calls = _CALL.findall(item) if isinstance(item, str) else []
    if len(calls) == 1 and not calls[0][1]:
        if calls[0][0].lower() in _SUBTRACT:
            return "subtracts"
        if calls[0][0].lower() in _SUBTRACT_NUMBERS:
            return "subtracts integers and decimals"
    return "keeps its values"


def with_kept_values(bound: StateBound, aggregates: Named) -> StateBound:
    """Return the bound with the aggregates that store all values."""
    kept = [name for name, item in aggregates if _retraction(item) == "keeps its values"]
    if not kept:
        return bound
    return StateBound(f"{bound.kept}; the values of {', '.join(kept)}", bound.grows, bound.hint)
