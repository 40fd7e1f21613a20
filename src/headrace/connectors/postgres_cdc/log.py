"""Reads a slot, on the driver: first the rows that were there, then whole transactions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow

from headrace.connectors.failpoints import reach
from headrace.connectors.postgres_cdc import slot
from headrace.connectors.postgres_cdc.pgoutput import Transaction
from headrace.connectors.postgres_cdc.record import Record, durable
from headrace.connectors.postgres_cdc.rows import fields, first_rows, rows_of
from headrace.connectors.postgres_cdc.slot import Followed
from headrace.connectors.sql.dialect import Database
from headrace.connectors.sql.patience import Line
from headrace.errors import SourceError

Offset = dict[str, int]
"""`{"part": files of first rows that have been read, "lsn": position up to which changes have}`."""
_CHUNK = 10_000
_IDLE_BYTES = 1 << 20
"""How much log that has nothing for us the server may keep before it is let go of."""


class ChangeLog:
    """A follower of one table."""

    def __init__(self, followed: Followed) -> None:
        self._followed = followed
        self._record = Record.read(followed.directory)
        reads = f"the changes of `{followed.table}`"
        self._line = Line(followed.dialect, followed.patience, reads=reads, source=followed.source)
        self._checked: Database | None = None
        """The connection over which the slot was found as it should be."""
        self._due = 0.0
        self._until: int | None = None
        """The position up to which a run reads that takes what is there now."""
        self._ahead: tuple[int, int, list[Transaction]] | None = None
        """Transactions that were read to find an epoch's end, and from where to where."""

    def initial(self) -> Offset:
        if not self._record.made:
            self._line.patiently(self._make)
        return {"part": 0, "lsn": self._record.begins}

    def available(self) -> None:
        self._until = self._line.patiently(slot.current)

    def latest(self, start: Offset) -> Offset:
        if start["part"] < self._record.parts:
            parts = max(self._followed.most // slot.FETCH, 1)
            return {**start, "part": min(start["part"] + parts, self._record.parts)}
        if self._until is not None:
            return self._line.patiently(lambda database: self._latest(database, start))
        now = time.monotonic()
        if now < self._due:
            return start
        self._due = now + self._followed.every
        return self._line.unless_lost(now, start, lambda database: self._latest(database, start))

    def pieces(self, start: Offset, end: Offset) -> list[bytes]:
        parts = range(start["part"], end["part"])
        found = [self._record.part(number).read_bytes() for number in parts]
        if end["lsn"] > start["lsn"]:
            rows = self._line.guarded(
                lambda: rows_of(self._followed, self._between(start["lsn"], end["lsn"]))
            )
            found += [
                _arrow(self._followed, rows[first : first + _CHUNK]) for first in range(0, len(rows), _CHUNK)
            ]
        return found

    def commit(self, end: Offset) -> None:
        """Every sink has what lies before: now the server may forget it."""
        self._line.patiently(lambda database: self._confirm(database, end["lsn"]))
        for number in range(end["part"]):
            self._record.part(number).unlink(missing_ok=True)

    def close(self) -> None:
        self._line.close()

    def _make(self, database: Database) -> None:
        """Make publication and slot, and keep the rows that are there."""
        name = self._followed.slot
        if self._record.slot != name and slot.state_of(database, name) is not None:
            raise SourceError(
                f"the replication slot `{name}` is there, and this pipeline's directory knows nothing of it",
                hint="if no other pipeline reads it: "
                f"select pg_drop_replication_slot('{name}'); else name another, slot=...",
            )
        self._record = self._record.noted(slot=name)
        self._record.cleared()
        slot.drop(database, name)
        self._publish(database)
        reach("changes.noted")
        if self._followed.snapshot:
            with slot.created_with_rows(self._followed) as (begins, chunks):
                reach("changes.created")
                parts = self._kept(begins, chunks)
        else:
            begins, parts = slot.create(database, name), 0
        self._record = self._record.noted(made=True, begins=begins, parts=parts, confirmed=begins)
        reach("changes.made")

    def _kept(self, begins: int, chunks: Iterable[list[tuple[Any, ...]]]) -> int:
        """Write the first rows to files; return how many."""
        parts = 0
        for parts, rows in enumerate(chunks, 1):
            first = first_rows(self._followed, rows, (parts - 1) * slot.FETCH, begins)
            durable(self._record.part(parts - 1), _arrow(self._followed, first))
        return parts

    def _publish(self, database: Database) -> None:
        try:
            slot.publish(database, self._followed)
        except LookupError as error:
            what = f"the publication `{self._followed.publication}` doesn't have the table `{self._followed.table}`"
            raise SourceError(what, hint=str(error)) from error

    def _latest(self, database: Database, start: Offset) -> Offset:
        """The end of the next epoch: that of a transaction. Spark asks when all before `start` is delivered."""
        position, until = start["lsn"], self._until
        if until is not None and until <= position:
            return start
        self._ready(database, position)
        reach_of_log = slot.current(database)
        found = slot.peek(database, self._followed, until, self._followed.most)
        ours = [one for one in found if one.end > position and one.changes]
        if ours:
            self._ahead = (position, ours[-1].end, ours)
            return {**start, "lsn": ours[-1].end}
        self._let_go(database, found[-1].end if found else min(reach_of_log, until or reach_of_log))
        return start

    def _between(self, start: int, end: int) -> Sequence[Transaction]:
        """The transactions of an epoch, read again if it is one of a run before."""
        if self._ahead is not None and self._ahead[:2] == (start, end):
            return self._ahead[2]

        def again(database: Database) -> list[Transaction]:
            self._ready(database, start)
            return slot.peek(database, self._followed, end, None)

        found = self._line.patiently(again)
        return [one for one in found if start < one.end <= end and one.changes]

    def _let_go(self, database: Database, position: int) -> None:
        """Nothing up to there is ours: let the server forget it, or a quiet table would keep the log of a busy server."""
        if position - self._record.confirmed > _IDLE_BYTES:
            self._confirm(database, position)

    def _confirm(self, database: Database, position: int) -> None:
        if position > self._record.confirmed:
            self._record = self._record.noted(confirmed=position)
            reach("changes.confirming")
            slot.advance(database, self._followed.slot, position)
            reach("changes.confirmed")

    def _ready(self, database: Database, position: int) -> None:
        """The slot stands where all that is delivered ends; once for a connection, as a server may go back when it crashes."""
        if self._checked is not database:
            self._check(database, position)
            slot.advance(database, self._followed.slot, position)
            self._checked = database
        self._confirm(database, position)

    def _check(self, database: Database, position: int) -> None:
        """The slot must be as we left it."""
        name, again = self._followed.slot, "remove the pipeline's directory to begin again with a snapshot"
        there = slot.state_of(database, name)
        if there is None:
            raise SourceError(
                f"the replication slot `{name}` is gone, and with it the changes since the last run",
                hint=again,
            )
        if not there.usable:
            what = f"the server has given up the replication slot `{name}`: its log grew beyond max_slot_wal_keep_size"
            raise SourceError(what, hint=f"select pg_drop_replication_slot('{name}'), and {again}")
        if there.confirmed > max(position, self._record.confirmed):
            what = f"somebody else has read the replication slot `{name}`, beyond what this pipeline has"
            raise SourceError(what, hint=f"give each reader a slot of its own; {again}")


def _arrow(followed: Followed, rows: Sequence[tuple[Any, ...]]) -> bytes:
    """Rows as the bytes of a stream of Arrow's."""
    kinds = {"string": pyarrow.string(), "bigint": pyarrow.int64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in fields(followed)])
    columns = zip(*rows, strict=True)
    arrays = [pyarrow.array(values, one.type) for values, one in zip(columns, schema, strict=True)]
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue())
