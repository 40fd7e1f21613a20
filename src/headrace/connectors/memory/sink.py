"""Writes epochs to the memory of the Python process."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import StagedRows, WriteContext, require_open
from headrace.connectors.ledger import Ledger, LedgerWriter
from headrace.connectors.memory.store import MemoryLedger, MemoryStore
from headrace.errors import DeliveryError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MemoryWriter(LedgerWriter):
    """Commits epochs to a store: adds rows, upserts them by key, or replaces all rows (`complete`)."""

    def __init__(self, store: MemoryStore, key: Sequence[str] = ()) -> None:
        self._store = store
        self._key = tuple(key)
        self._context: WriteContext | None = None
        self._ledger: Ledger | None = None

    @property
    def upsert_key(self) -> tuple[str, ...]:
        return self._key

    def open(self, context: WriteContext) -> int:
        self._context = context
        storage = MemoryLedger(self._store, (context.pipeline, context.sink))
        self._ledger = Ledger(storage, context, "the rows in memory")
        with self._store.lock:
            return self._ledger.take_over()

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        for name in self._key:
            if name not in frame.columns:
                where = self._context.sink if self._context else "memory"
                hint = did_you_mean(name, frame.columns)
                raise DeliveryError(f"unknown key column `{name}`", where=where, hint=hint)
        rows = frame.toArrow().to_pylist()
        return StagedRows(len(rows), rows)

    def commit(self, epoch: int, staged: StagedRows) -> None:
        context, ledger = require_open(self._context, "memory"), require_open(self._ledger, "memory")
        with self._store.lock:
            if not ledger.has(epoch):
                ledger.commit(epoch)
                replace, key_of = context.mode == "complete", self._key_of if self._key else None
                self._store.commit(staged.content, replace=replace, key_of=key_of)

    def close(self) -> None:
        self._context = self._ledger = None

    def _key_of(self, row: Mapping[str, Any]) -> Hashable:
        return tuple(_key_value(name, row[name]) for name in self._key)


def _key_value(name: str, value: Any) -> Hashable:
    """Return the value to compare: for a numbered window its number, because its bounds may move."""
    if name == "window" and isinstance(value, Mapping) and "number" in value:
        return int(value["number"])
    return value if isinstance(value, Hashable) else repr(value)
