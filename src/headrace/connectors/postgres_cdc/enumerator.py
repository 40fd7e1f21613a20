"""Plans the epochs of a CDC source on the driver: first the snapshot, then whole transactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow

from headrace.connectors.driver_source import Offset
from headrace.connectors.driver_source.splits import encode_split
from headrace.connectors.failpoints import reach
from headrace.connectors.options import seconds_of
from headrace.connectors.postgres_cdc import slot
from headrace.connectors.postgres_cdc.pgoutput import Transaction
from headrace.connectors.postgres_cdc.replicated_table import ReplicatedTable
from headrace.connectors.postgres_cdc.rows import change_rows, fields, snapshot_rows
from headrace.connectors.postgres_cdc.slot_record import SlotRecord
from headrace.connectors.retry import ReconnectingSession
from headrace.connectors.sql.dialect import Session
from headrace.errors import SourceError

_BATCH_ROWS = 10_000
_IDLE_BYTES = 1 << 20
"""The size of log without changes of the table after which the slot advances past it."""


class CdcEnumerator:
    """The split enumerator of one replicated table.

    An offset is `{"part": number of snapshot files read, "lsn": position up to which changes are read}`.
    """

    def __init__(self, table: ReplicatedTable) -> None:
        self._table, self._options = table, table.options
        self._record = SlotRecord.read(table.context.directory)
        self._session: ReconnectingSession[Session] = ReconnectingSession(
            table.dialect,
            table.options.retry_seconds,
            reads=f"the changes of `{table.table}`",
            source=table.context.source,
        )
        self._checked: Session | None = None
        """The session in which the slot was checked."""
        self._final: int | None = None
        """The last position of a run that processes the available changes and stops."""
        self._prefetched: tuple[int, int, list[Transaction]] | None = None
        """Start, end and transactions of the epoch that `latest` planned."""

    def initial(self) -> Offset:
        if not self._record.complete:
            self._session.retry(self._create_slot)
        return {"part": 0, "lsn": self._record.begins}

    def available(self) -> None:
        self._final = self._session.retry(slot.current)

    def latest(self, start: Offset) -> Offset:
        if start["part"] < self._record.parts:
            parts = max(self._options.max_per_batch // slot.FETCH_ROWS, 1)
            return {**start, "part": min(start["part"] + parts, self._record.parts)}
        if self._final is not None:
            return self._session.retry(lambda session: self._latest(session, start))
        return self._session.poll(
            seconds_of(self._options.every), start, lambda session: self._latest(session, start)
        )

    def splits(self, start: Offset, end: Offset) -> list[bytes]:
        parts = range(start["part"], end["part"])
        splits = self._session.translate(lambda: [self._record.read_part(number) for number in parts])
        if end["lsn"] > start["lsn"]:
            rows = self._session.translate(
                lambda: change_rows(self._table, self._transactions(start["lsn"], end["lsn"]))
            )
            batches = (rows[first : first + _BATCH_ROWS] for first in range(0, len(rows), _BATCH_ROWS))
            splits += [_encode(self._table, batch) for batch in batches]
        return splits

    def commit(self, end: Offset) -> None:
        """Let the server discard its log up to an offset that every sink has committed."""
        self._session.retry(lambda session: self._confirm(session, end["lsn"]))
        for number in range(end["part"]):
            self._record.part(number).unlink(missing_ok=True)

    def close(self) -> None:
        self._session.close()

    def _create_slot(self, session: Session) -> None:
        """Create publication and slot, and store the snapshot."""
        name = self._table.slot
        if self._record.slot != name and slot.read_state(session, name) is not None:
            raise SourceError(
                f"the replication slot `{name}` exists, but not in this pipeline's directory",
                hint="if no other pipeline reads it: "
                f"select pg_drop_replication_slot('{name}'); else choose another name, slot=...",
            )
        self._record = self._record.update(slot=name, sealed=True)
        self._record.clear_snapshot()
        slot.drop(session, name)
        self._publish(session)
        reach("cdc.recorded")
        if self._options.snapshot == "first":
            with slot.create_with_snapshot(self._table) as (begins, chunks):
                reach("cdc.created")
                parts = self._store_snapshot(begins, chunks)
        else:
            begins, parts = slot.create(session, name), 0
        self._record = self._record.update(complete=True, begins=begins, parts=parts, confirmed=begins)
        reach("cdc.completed")

    def _store_snapshot(self, begins: int, chunks: Iterable[list[tuple[Any, ...]]]) -> int:
        """Write the snapshot to files; return their number."""
        parts = 0
        for parts, rows in enumerate(chunks, 1):
            encoded = snapshot_rows(self._table, rows, (parts - 1) * slot.FETCH_ROWS, begins)
            self._record.store_part(parts - 1, _encode(self._table, encoded))
        return parts

    def _publish(self, session: Session) -> None:
        try:
            slot.publish(session, self._table)
        except LookupError as error:
            what = (
                f"the publication `{self._table.publication}` does not have the table `{self._table.table}`"
            )
            raise SourceError(what, hint=str(error)) from error

    def _latest(self, session: Session, start: Offset) -> Offset:
        """Return the end of the next epoch, which is the end of a transaction."""
        position, final = start["lsn"], self._final
        if final is not None and final <= position:
            return start
        self._prepare(session, position)
        log_end = slot.current(session)
        transactions = slot.peek(session, self._table, final, self._options.max_per_batch)
        new = [
            transaction for transaction in transactions if transaction.end > position and transaction.changes
        ]
        if new:
            self._prefetched = (position, new[-1].end, new)
            return {**start, "lsn": new[-1].end}
        self._skip(session, transactions[-1].end if transactions else min(log_end, final or log_end))
        return start

    def _transactions(self, start: int, end: int) -> Sequence[Transaction]:
        """Return the transactions of an epoch; read them again if an earlier run planned it."""
        if self._prefetched is not None and self._prefetched[:2] == (start, end):
            return self._prefetched[2]

        def read(session: Session) -> list[Transaction]:
            self._prepare(session, start)
            return slot.peek(session, self._table, end, None)

        transactions = self._session.retry(read)
        return [
            transaction
            for transaction in transactions
            if start < transaction.end <= end and transaction.changes
        ]

    def _skip(self, session: Session, position: int) -> None:
        """Advance past log without changes of the table, which a busy server would otherwise keep."""
        if position - self._record.confirmed > _IDLE_BYTES:
            self._confirm(session, position)

    def _confirm(self, session: Session, position: int) -> None:
        if position > self._record.confirmed:
            self._record = self._record.update(confirmed=position)
            reach("cdc.confirming")
            slot.advance(session, self._table.slot, position)
            reach("cdc.confirmed")

    def _prepare(self, session: Session, position: int) -> None:
        """Check the slot once per session, as a crash may move it back, and confirm the position."""
        if self._checked is not session:
            self._check_slot(session, position)
            slot.advance(session, self._table.slot, position)
            self._checked = session
        self._confirm(session, position)

    def _check_slot(self, session: Session, position: int) -> None:
        """Raise an error if the slot is not as this pipeline left it."""
        name, restart = self._table.slot, "remove the pipeline's directory to begin again with a snapshot"
        state = slot.read_state(session, name)
        if state is None:
            what = f"the replication slot `{name}` is missing, and with it the changes since the last run"
            raise SourceError(what, hint=restart)
        if not state.usable:
            what = f"the server has invalidated the replication slot `{name}` (max_slot_wal_keep_size)"
            raise SourceError(what, hint=f"select pg_drop_replication_slot('{name}'), and {restart}")
        if state.confirmed > max(position, self._record.confirmed):
            what = (
                f"another reader has advanced the replication slot `{name}` beyond this pipeline's position"
            )
            raise SourceError(what, hint=f"give each reader its own slot; {restart}")


def _encode(table: ReplicatedTable, rows: Sequence[tuple[Any, ...]]) -> bytes:
    """Return rows as a split."""
    kinds = {"string": pyarrow.string(), "bigint": pyarrow.int64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in fields(table)])
    return encode_split(schema, zip(*rows, strict=True))
