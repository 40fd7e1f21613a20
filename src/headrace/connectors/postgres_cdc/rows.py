"""Changes as rows: the text form that is sent to Spark, and the columns of the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.connectors.flatten import position_column, quote_name
from headrace.connectors.postgres_cdc.pgoutput import UNCHANGED, Change, Row, Transaction
from headrace.connectors.postgres_cdc.replicated_table import ReplicatedTable
from headrace.connectors.sql.columns import cast_text
from headrace.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fields(table: ReplicatedTable) -> list[tuple[str, str]]:
    """Return the fields that are sent to Spark, values as text; `__old_...` is the row before."""
    names = list(table.columns)
    names += [f"__old_{name}" for name in names] if table.options.before else []
    texts = [(name, "string") for name in (*names, "__op", "__had_old")]
    return [*texts, ("__number", "bigint"), ("__lsn", "bigint"), ("__at", "bigint")]


def spark_schema(table: ReplicatedTable) -> str:
    """Return the same fields as DDL."""
    return ", ".join(f"{quote_name(name)} {kind}" for name, kind in fields(table))


def select_source_columns(frame: DataFrame, table: ReplicatedTable, types: dict[str, str]) -> DataFrame:
    """Return the columns of the source.

    Args:
        frame: has the columns of `spark_schema`.
        table: the table.
        types: the columns to return, with their Spark types.
    """
    kinds = {name: table.dialect.spark_type(declared) for name, declared in table.columns.items()}

    def cast(prefix: str) -> list[str]:
        return [
            f"{cast_text(quote_name(f'{prefix}{name}'), kinds[name], kind)} as {quote_name(name)}"
            for name, kind in types.items()
        ]

    columns = [*cast(""), "struct(__op as op, __lsn as lsn, timestamp_micros(__at) as at) as change"]
    if table.options.before is not None:
        old = f"struct({', '.join(cast('__old_'))})"
        columns.append(f"if(__had_old is null, null, {old}) as {quote_name(table.options.before)}")
    return frame.selectExpr(*columns, position_column(table.context.source, "''", "__number"))


def snapshot_rows(
    table: ReplicatedTable, rows: Iterable[tuple[Any, ...]], first: int, position: int
) -> list[tuple[Any, ...]]:
    """Return rows of the snapshot; `first` is the number of the first one."""
    blank = (None,) * len(table.columns) if table.options.before else ()
    return [
        (*row, *blank, "snapshot", None, number, position, None) for number, row in enumerate(rows, first)
    ]


def change_rows(table: ReplicatedTable, transactions: Iterable[Transaction]) -> list[tuple[Any, ...]]:
    """Return the rows of whole transactions, numbered in order.

    Raises:
        SourceError: a change has no row form.
    """
    changes = (
        (transaction, change)
        for transaction in transactions
        for logged in transaction.changes
        for change in _row_changes(table, logged)
    )
    return [
        (*_values(table, change), change.op, None if change.old is None else "t", number, of.end, of.at)
        for number, (of, change) in enumerate(changes)
    ]


def _row_changes(table: ReplicatedTable, change: Change) -> Iterator[Change]:
    """Yield the changes of rows; an update of the key becomes a delete and an insert."""
    if change.op == "truncate":
        if table.options.truncate == "skip":
            return
        raise SourceError(
            f"the table `{table.table}` was truncated, and TRUNCATE names no rows",
            hint='truncate="skip" ignores it; rows that sinks hold stay',
        )
    old, new = change.old, _fill_unchanged(change.row, change.old)
    if change.op == "update" and old is not None and any(old[name] != new[name] for name in table.key):
        yield Change("delete", {**dict.fromkeys(new), **old}, old)
        yield Change("insert", new)
    else:
        yield Change(change.op, new, old)


def _fill_unchanged(row: Row, old: Row | None) -> Row:
    """Take values that the server omits, because they did not change, from the old row."""
    if old is None:
        return row
    return {name: old.get(name, UNCHANGED) if value is UNCHANGED else value for name, value in row.items()}


def _values(table: ReplicatedTable, change: Change) -> tuple[Any, ...]:
    new = tuple(_value(table, change.row, name) for name in table.columns)
    if not table.options.before:
        return new
    old = change.old or {}
    return (*new, *(_value(table, {name: None, **old}, name) for name in table.columns))


def _value(table: ReplicatedTable, row: Row, name: str) -> Any:
    if name not in row:
        raise SourceError(
            f"the table `{table.table}` had no column `{name}` when a change was made",
            hint="remove the column from the schema",
        )
    value = row[name]
    if value is UNCHANGED:
        raise SourceError(
            f"an update of `{table.table}` lacks `{name}`: the value is large and did not change",
            hint=f"ALTER TABLE {table.table} REPLICA IDENTITY FULL adds it from then on; "
            "to get past this update, remove the column from the schema",
        )
    return value[2:] if table.columns[name] == "bytea" and isinstance(value, str) else value
