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


def result_key(
    left: Facts,
    right: Facts,
    on: tuple[tuple[str, str], ...],
    columns: tuple[str, ...] | None,
    *,
    outer_right: bool = False,
) -> tuple[str, ...]:
    """Return the columns that identify a row of a join; empty if they are unknown.

    They are the key of the left table, and that of the right table if it can have several rows of one join
    key. If results can lack a left row, the join must be by the key of the left table.
    """
    if left.change != "table" or not left.table_key:
        return ()
    if outer_right and not set(left.table_key) <= {key for key, _ in on}:
        return ()
    several = not right.cdc and not set(right.table_key) <= {key for _, key in on}
    key = (*left.table_key, *(right.table_key if several else ()))
    if (several and not right.table_key) or columns is None or not set(key) <= set(columns):
        return ()
    return key
