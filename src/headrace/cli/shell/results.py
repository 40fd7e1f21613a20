"""The result of a query: a sink that collects rows, and the table that its changes give."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import PrivateAttr

from headrace.connectors import flatten
from headrace.connectors.base import Connector, Guarantee, Role, StagedRows, WriteContext, Writer
from headrace.steps.facts import CHANGE, Facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.plan.graph import Graph

Cell = str | int | float | bool | None
Row = tuple[Cell, ...]
Take = Callable[[Sequence[str], Sequence[Row]], None]
"""Receives the columns and the rows of an epoch."""
MAX_ROWS = 10_000
"""The maximum number of rows that a result holds; others are counted."""


class Feed(Connector):
    """A sink that passes the rows of each epoch to a function of this process."""

    kind: ClassVar[str] = "console"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"

    _takes: list[Take] = PrivateAttr(default_factory=list)  # a function would become a method

    @classmethod
    def into(cls, take: Take) -> Feed:
        """Return a sink that passes its rows to `take`."""
        feed = cls()
        feed._takes.append(take)
        return feed

    def writer(self) -> Writer:
        return FeedWriter(self._takes[0])


class FeedWriter:
    """Collects the rows of an epoch as plain values and passes them on when it commits; has no ledger."""

    def __init__(self, take: Take) -> None:
        self._take = take

    def open(self, context: WriteContext) -> int:
        return -1

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        plain = frame.selectExpr(*flatten.expressions(frame.schema.jsonValue(), text=True)).toArrow()
        columns = [column.to_pylist() for column in plain.columns]
        return StagedRows(plain.num_rows, (tuple(plain.column_names), list(zip(*columns, strict=True))))

    def commit(self, epoch: int, staged: StagedRows) -> None:
        columns, rows = staged.content
        self._take(columns, rows)

    def close(self) -> None:
        """Do nothing: there is no target."""


def feed_result(graph: Graph, take: Take) -> Graph:
    """Return the plan of a query with its rows passed to a function instead of the console."""
    [sink] = graph.sinks
    return graph.plus(replace(sink, connector=Feed.into(take)))


class Result:
    """The rows of a query so far.

    >>> result = Result(Facts(change="table"))
    >>> result.take(["k", "n", "change"], [("a", 1, "insert"), ("b", 1, "insert")])
    >>> result.take(["k", "n", "change"], [("a", 1, "update_before"), ("a", 2, "update_after")])
    >>> result.columns, list(result.rows())
    (('k', 'n'), [('a', 2), ('b', 1)])
    """

    def __init__(self, facts: Facts, *, as_changes: bool = False) -> None:
        """Describe a result.

        Args:
            facts: the facts about the rows of the query.
            as_changes: show the changes of a table as rows.
        """
        self._facts = facts
        self._as_changes = as_changes
        self._content: _Content | None = None
        self._names: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self.epochs = 0
        self.taken = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return self._names

    @property
    def is_table(self) -> bool:
        """True if rows replace or remove earlier ones."""
        return isinstance(self._content, _Table)

    @property
    def count(self) -> int:
        """The number of rows, those included that are not held."""
        return self._content.count if self._content is not None else 0

    def take(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Add the rows of an epoch."""
        with self._lock:
            if self._content is None:
                self._content = self._open(columns)
            self.epochs += 1
            self.taken += len(rows)
            for row in rows:
                self._content.add(row)

    def rows(self, limit: int = MAX_ROWS) -> Iterator[Row]:
        """Yield the rows: of a table the first ones, of a stream the last ones."""
        with self._lock:
            held = self._content.rows(limit) if self._content is not None else []
        yield from held

    def _open(self, columns: Sequence[str]) -> _Content:
        names = tuple(columns)
        self._names = names
        if self._as_changes:
            return _Log()
        if self._facts.change in ("table", "updates") and CHANGE in names:
            at = names.index(CHANGE)
            self._names = names[:at] + names[at + 1 :]
            return _Changes(at)
        if self._facts.change == "updates" and (key := _key_places(self._facts, names)):
            return _Keyed(key)
        return _Log()


class _Content:
    """The rows of a result; `count` includes those that are not held."""

    count = 0

    def add(self, row: Row) -> None:
        raise NotImplementedError

    def rows(self, limit: int) -> list[Row]:
        raise NotImplementedError


class _Log(_Content):
    """Rows that are only added; the last ones are held."""

    def __init__(self) -> None:
        self._rows: deque[Row] = deque(maxlen=MAX_ROWS)

    def add(self, row: Row) -> None:
        self.count += 1
        self._rows.append(row)

    def rows(self, limit: int) -> list[Row]:
        return list(self._rows)[-limit:]


class _Table(_Content):
    """Rows in slots: a row that replaces another one takes its slot, so that a display stays steady."""

    def __init__(self) -> None:
        self._slots: dict[int, Row] = {}
        self._next = 0

    def rows(self, limit: int) -> list[Row]:
        return [row for _, row in sorted(self._slots.items())[:limit]]

    def _new_slot(self, row: Row) -> int:
        self._next += 1
        self._slots[self._next] = row
        return self._next


class _Keyed(_Table):
    """Rows that replace the earlier row of their key."""

    def __init__(self, key: Sequence[int]) -> None:
        super().__init__()
        self._key = key
        self._by_key: dict[Hashable, int] = {}

    def add(self, row: Row) -> None:
        key = tuple(row[place] for place in self._key)
        if (slot := self._by_key.get(key)) is not None:
            self._slots[slot] = row
            return
        self.count += 1
        if len(self._slots) < MAX_ROWS:
            self._by_key[key] = self._new_slot(row)


class _Changes(_Table):
    """The rows that remain after the changes of a table."""

    def __init__(self, change: int) -> None:
        super().__init__()
        self._change = change
        self._places: dict[Row, list[int]] = {}
        self._free: list[int] = []
        """The slots of rows whose new version has not arrived yet."""

    def add(self, row: Row) -> None:
        change = row[self._change]
        values = row[: self._change] + row[self._change + 1 :]
        if change in ("insert", "update_after"):
            self.count += 1
            self._insert(values, self._free.pop(0) if change == "update_after" and self._free else None)
        else:
            self.count -= 1
            slot = self._remove(values)
            if change == "update_before" and slot is not None:
                self._free.append(slot)
            else:
                self._free.clear()

    def _insert(self, row: Row, slot: int | None) -> None:
        if slot is None and len(self._slots) >= MAX_ROWS:
            return
        if slot is None:
            slot = self._new_slot(row)
        self._slots[slot] = row
        self._places.setdefault(_identity(row), []).append(slot)

    def _remove(self, row: Row) -> int | None:
        places = self._places.get(_identity(row))
        if not places:
            return None
        slot = places.pop(0)
        if not places:
            del self._places[_identity(row)]
        del self._slots[slot]
        return slot


def _identity(row: Row) -> Row:
    """Return a row that equals its copies; a float that is not a number equals nothing."""
    return tuple("NaN" if value != value else value for value in row)  # noqa: PLR0124


def _key_places(facts: Facts, names: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the columns that identify an updated row; empty if they are not all there."""
    fixed = {name.lower(): keys for name, keys in facts.fixed}
    flat = {name: _plain_name(name.lower()) for name in names}
    used = [name for name in names if flat[name] in fixed]
    covered = {key for name in used for key in fixed[flat[name]]}
    complete = bool(facts.table_key) and set(facts.table_key) <= covered
    return tuple(names.index(name) for name in used) if complete else ()


def _plain_name(name: str) -> str:
    """Return the column that a flattened column is a part of."""
    return "window" if name in ("window_start", "window_end", "window_number") else name


def format_cell(value: Any) -> str:
    """Return a value as it is shown in a table.

    >>> format_cell(None), format_cell(True), format_cell("2026-03-02T09:00:01.000000Z"), format_cell(0.5)
    ('null', 'true', '2026-03-02T09:00:01', '0.5')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value).removesuffix("Z").removesuffix(".000000")


def is_bounded(connectors: Iterable[Connector]) -> bool:
    """Return True if all inputs end: rows that are stored somewhere, and generators with a number of rows.

    >>> from headrace import connect
    >>> is_bounded([connect.files(path="in/")]), is_bounded([connect.kafka(servers="k", topic="t")])
    (True, False)
    """
    return all(_ends(each) for each in connectors)


def _ends(connector: Connector) -> bool:
    if connector.kind in ("generator", "nexmark"):
        limit = "rows" if connector.kind == "generator" else "events"
        return getattr(connector, limit, None) is not None
    return connector.kind in _STORED


_STORED = frozenset({"delta", "files", "memory", "mysql", "postgres", "sqlite"})
"""Connectors whose rows are stored: a query takes those that are there."""
