"""Facts of steps over tables."""

from __future__ import annotations

from headrace.steps.expressions import Named
from headrace.steps.facts import CHANGE, Facts
from headrace.steps.joins.sides import How, On

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
    *,
    on: On,
    how: How,
    select: Named | None,
    columns: tuple[str, ...] | None,
) -> tuple[str, ...]:
    """Return the columns that identify a row of a live join; empty if they are unknown.

    They are the key of the side that has at most one match for each row, and the keys of both sides
    otherwise.
    """
    left_key = left.table_key if left.change == "table" else ()
    right_key = right.table_key if right.change == "table" else ()
    one_left = bool(left_key) and set(left_key) <= {key for key, _ in on}
    one_right = right.cdc or (bool(right_key) and set(right_key) <= {key for _, key in on})
    own, partner = [f"left.{name}" for name in left_key], [f"right.{name}" for name in right_key]
    match how:
        case "semi" | "anti":
            key = own
        case "inner" | "left" if one_right and own:
            key = own
        case "inner" | "right" if one_left and partner:
            key = partner
        case "full" if one_left and one_right and select is None:
            key = own  # the key columns have the value of either side
        case _:
            key = [*own, *partner] if own and partner else []
    names = _result_names(on, select, columns or ())
    result = [names.get(source.lower(), "") for source in key]
    return tuple(dict.fromkeys(result)) if all(result) else ()


def _result_names(on: On, select: Named | None, columns: tuple[str, ...]) -> dict[str, str]:
    """Return the result columns by the column of a side that they have: `left.id` or `right.id`."""
    if select is not None:
        return {
            item.replace("`", "").lower(): name for name, item in select if isinstance(item, str) and name
        }
    known = {name.lower() for name in columns}
    names = {f"{side}.{name.lower()}": name for side in ("right", "left") for name in columns}
    partners = {f"right.{right.lower()}": left for left, right in on if left.lower() in known}
    return names | partners  # a right key column is omitted: the left one has its value
