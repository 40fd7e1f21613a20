"""Changes as rows: what of them travels to Spark as text, and what columns users see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.connectors.postgres_cdc.pgoutput import UNCHANGED, Change, Row, Transaction
from headrace.connectors.postgres_cdc.slot import Followed
from headrace.connectors.sql.source import typed
from headrace.errors import SourceError
from headrace.schemas.datatypes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST = "snapshot"


def fields(followed: Followed) -> list[tuple[str, str]]:
    """What travels: every value as text; `__old_...` are those before the change."""
    names = [name for name, _ in followed.columns]
    names += [f"__old_{name}" for name in names] if followed.before else []
    texts = [(name, "string") for name in (*names, "__op", "__had_old")]
    return [*texts, ("__number", "bigint"), ("__lsn", "bigint"), ("__at", "bigint")]


def layout(followed: Followed) -> str:
    """The same as a schema of Spark's."""
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in fields(followed))


def shaped(
    frame: DataFrame, followed: Followed, kinds: dict[str, str], wanted: dict[str, str], before: str | None
) -> DataFrame:
    """The rows as users see them."""
    values = [f"{typed(quoted(name), kinds[name], kind)} as {quoted(name)}" for name, kind in wanted.items()]
    values.append("struct(__op as op, __lsn as lsn, timestamp_micros(__at) as at) as change")
    if before is not None:
        old = (
            f"{typed(quoted(f'__old_{name}'), kinds[name], kind)} as {quoted(name)}"
            for name, kind in wanted.items()
        )
        values.append(f"if(__had_old is null, null, struct({', '.join(old)})) as {quoted(before)}")
    place = f"struct('{followed.source}' as source, '' as partition, __number as offset) as __position"
    return frame.selectExpr(*values, place)


def first_rows(
    followed: Followed, rows: Iterable[tuple[Any, ...]], number: int, position: int
) -> list[tuple[Any, ...]]:
    """Rows that are there at the beginning; `number` is that of the first one."""
    blank = (None,) * len(followed.columns) if followed.before else ()
    return [(*row, *blank, FIRST, None, place, position, None) for place, row in enumerate(rows, number)]


def rows_of(followed: Followed, transactions: Iterable[Transaction]) -> list[tuple[Any, ...]]:
    """The rows of whole transactions, numbered in their order.

    Raises:
        SourceError: a change can't be told as a row.
    """
    given = (
        (one, change) for one in transactions for whole in one.changes for change in _split(followed, whole)
    )
    return [
        (*_values(followed, change), change.op, None if change.old is None else "t", number, one.end, one.at)
        for number, (one, change) in enumerate(given)
    ]


def _split(followed: Followed, change: Change) -> Iterator[Change]:
    """A row that got another key is, to whoever keeps rows by key, one row less and one more."""
    if change.op == "truncate":
        if followed.skip_truncate:
            return
        raise SourceError(
            f"the table `{followed.table}` was truncated, and that names no rows",
            hint='truncate="skip" goes on without it; what sinks hold of the table stays',
        )
    old, now = change.old, _filled(change.row, change.old)
    if change.op == "update" and old is not None and any(old[name] != now[name] for name in followed.key):
        yield Change("delete", {**dict.fromkeys(now), **old}, old)
        yield Change("insert", now)
    else:
        yield Change(change.op, now, old)


def _filled(row: Row, old: Row | None) -> Row:
    """What the server doesn't say again, because it didn't change, taken from the row before."""
    if old is None:
        return row
    return {name: old.get(name, UNCHANGED) if value is UNCHANGED else value for name, value in row.items()}


def _values(followed: Followed, change: Change) -> tuple[Any, ...]:
    now = tuple(_value(followed, change.row, name, binary) for name, binary in followed.columns)
    if not followed.before:
        return now
    old = change.old or {}
    return (*now, *(_value(followed, {name: None, **old}, name, binary) for name, binary in followed.columns))


def _value(followed: Followed, row: Row, name: str, binary: bool) -> Any:
    if name not in row:
        raise SourceError(
            f"the table `{followed.table}` had no column `{name}` when a change was made",
            hint="leave the column out of the schema",
        )
    value = row[name]
    if value is UNCHANGED:
        raise SourceError(
            f"an update of `{followed.table}` doesn't say `{name}`: the value is large, lies apart and didn't change",
            hint=f"ALTER TABLE {followed.table} REPLICA IDENTITY FULL tells it from then on; to get past this update, leave "
            "the column out of the schema",
        )
    return value[2:] if binary and isinstance(value, str) else value
