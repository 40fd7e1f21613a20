"""Aggregates whose state grows with their rows."""

from __future__ import annotations

import re
from dataclasses import replace

from headrace.steps.expressions import Named, PythonFold
from headrace.steps.traits import StateBound

_GROWING = re.compile(
    r"\b(collect_list|collect_set|array_agg|listagg|string_agg|percentile|percentile_cont|percentile_disc|median|mode|"
    r"histogram_numeric)\s*\(|\bdistinct\b",
    re.IGNORECASE,
)


def with_rows_in_state(bound: StateBound, aggregates: Named) -> StateBound:
    """Return the bound with a note on the first aggregate whose state contains values of every row."""
    for _, item in aggregates:
        if isinstance(item, PythonFold):
            return replace(bound, kept=f"{bound.kept}; {item} keeps its arguments of every row in it")
    matches = [match for _, item in aggregates if isinstance(item, str) and (match := _GROWING.search(item))]
    if not matches:
        return bound
    word = (matches[0].group(1) or "distinct").lower()
    return replace(bound, kept=f"{bound.kept}; {word} keeps values of every row in it")
