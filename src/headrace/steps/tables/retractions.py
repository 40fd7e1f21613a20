"""Aggregates over a changelog: some subtract a removed row, others store all values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.steps.expressions import Named
from headrace.steps.facts import Facts
from headrace.steps.traits import Finding, StateBound
from headrace.triggers import Emission
from headrace.windows import Global, Session, Sliding, Tumbling, Window

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


def keeps_rows(window: Window) -> bool:
    """Return True if a window over a changelog buffers rows, from which a removed row is deleted.

    In windows with fixed bounds, the aggregates process the removed row.
    """
    return not isinstance(window, Tumbling | Sliding | Global)


def describe_removal(window: Window, aggregates: Named) -> str:
    """Describe how a window over a changelog processes a removed row."""
    return "deleted from the buffered rows" if keeps_rows(window) else describe_retractions(aggregates)


def check_window(window: Window, emission: Emission, *, by_clock: bool) -> Iterator[Finding]:
    """Yield a problem if a window cannot process retractions."""
    kind = type(window).__name__.lower()
    if isinstance(window, Session) and not emission.fires_once:
        what = "a session over a table fires once, when it closes"
        yield Finding(what, "remove early, late, lateness and trigger", ("emit", "window"))
    if window.order_dependent and (by_clock or getattr(window, "order", "") == "arrival"):
        what = f"{kind} windows in arrival order do not accept a table as input"
        yield Finding(what, "use event time, and remove order", ("window",))
    if emission.late_rows == "count":
        what = 'engine="native" runs on Spark\'s own operators, which have no retractions'
        yield Finding(what, "remove engine", ("engine", "emit", "window"))
