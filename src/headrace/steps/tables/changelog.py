"""Facts of steps over tables."""

from __future__ import annotations

from headrace.steps.expressions import Named
from headrace.steps.facts import CHANGE, Facts

ACCEPT_TABLES = "read the stream behind the table; aggregate, window, top_n and join accept tables"
"""The hint of the error for a step that does not accept a table."""


def row_columns(facts: Facts) -> tuple[str, ...] | None:
    """Return the columns without `change` of a table; the columns of a stream unchanged."""
    if facts.columns is None or not (facts.change == "table" or facts.cdc):
        return facts.columns
    return tuple(name for name in facts.columns if name.lower() != CHANGE)


def keyed_columns(keys: Named, columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return computed keys, then the columns of the rows."""
    if columns is None:
        return None
    return (*(name for name, key in keys if name != key), *columns)
