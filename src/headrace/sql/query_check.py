"""Check the columns of SQL queries without a JVM: unknown columns, and two columns of the same name.

Only queries whose columns are certain are checked: one `select` from streams with known columns. Everything
else is left to Spark's analyzer when a run is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.errors import did_you_mean
from headrace.sql.expression_check import ExpressionFault, column_parts
from headrace.sql.parsing import parse_statements

if TYPE_CHECKING:
    from sqlglot import expressions as exp

Tables = Mapping[str, Sequence[str] | None]

_COMPUTED = ("window", "session_window", "_metadata")
"""Columns that Spark adds: the window of `group by window(...)`, and metadata of files."""


def check_query_columns(query: str, tables: Tables) -> Iterator[ExpressionFault]:
    """Yield the unknown columns of a query over `tables`, by name; None for unknown columns.

    >>> faults = check_query_columns("select crad, sum(x.amount) from tx x", {"tx": ["card", "amount"]})
    >>> [fault.problem for fault in faults]
    ['unknown column `crad`']
    """
    select = _parse_select(query)
    sources = _sources(select, tables) if select is not None else None
    if select is None or sources is None:
        return
    aliases = [item.alias.lower() for item in select.expressions if item.alias]
    columns = [name for names in sources.values() for name in names]
    known = {*(name.lower() for name in columns), *aliases, *_COMPUTED}
    for first, *rest in dict.fromkeys(column_parts(select)):
        if first.lower() in known or (rest and rest[0] == "*"):
            continue
        if not rest and first.lower() in sources:
            hint = 'use its columns, or join(..., within="10 seconds") to compare the times of two streams'
            yield ExpressionFault(f"`{first}` is a stream, not a column", hint)
        elif not rest or first.lower() not in sources:
            yield ExpressionFault(f"unknown column `{first}`", did_you_mean(first, columns))
        elif rest[0].lower() not in {*(name.lower() for name in sources[first.lower()]), *_COMPUTED}:
            hint = did_you_mean(rest[0], sources[first.lower()])
            yield ExpressionFault(f"unknown column `{first}.{rest[0]}`", hint)


def selected_columns(query: str, tables: Tables) -> list[str]:
    """Return the names of the columns that a query selects, as far as they are certain.

    >>> selected_columns("select *, upper(card) as card, count(*) from tx", {"tx": ["card", "amount"]})
    ['card', 'amount', 'card']
    """
    from sqlglot import expressions as exp

    select = _parse_select(query)
    if select is None:
        return []
    sources = None if select.args.get("joins") else _sources(select, tables)
    names: list[str] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) and not any(item.args.values()):
            names += [name for columns in (sources or {}).values() for name in columns]
        elif isinstance(item, exp.Alias | exp.Column) and not item.is_star:
            names.append(item.alias_or_name)
    return names


def _parse_select(query: str) -> exp.Select | None:
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError

    try:
        [tree] = parse_statements(query)
    except (SqlglotError, ValueError):  # not one statement
        return None
    return tree if isinstance(tree, exp.Select) else None


def _sources(select: exp.Select, tables: Tables) -> dict[str, Sequence[str]] | None:
    """Return the columns of each table or alias of a query; None if it has other sources or names."""
    from sqlglot import expressions as exp

    others = (exp.Subquery, exp.With, exp.Lateral, exp.Unnest, exp.Exists, exp.Values, exp.Pivot, exp.Hint)
    if select.find(*others) is not None or select.args.get("windows") or select.find(exp.Select) != select:
        return None
    sources: dict[str, Sequence[str]] = {}
    for table in select.find_all(exp.Table):
        columns = tables.get(table.name)
        if columns is None or table.args.get("db") or table.alias_column_names:
            return None
        sources[table.alias_or_name.lower()] = columns
    return sources or None
