"""The rows of the memory connector, held by the Python process in the order of arrival."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from headrace.connectors.base import DELETED
from headrace.connectors.ledger import LedgerEntry

Rows = Sequence[Mapping[str, Any]]
Listener = Callable[[Rows], None]
KeyOf = Callable[[Mapping[str, Any]], Hashable]


class MemoryStore:
    """Batches of rows, each added or delivered at once; the offset of a source counts batches."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.id = uuid4().hex
        self._batches: list[list[dict[str, Any]]] = []
        self._listeners: list[Listener] = []
        self._has_first_rows = False
        self.ledgers: dict[tuple[str, str], LedgerEntry] = {}
        """The ledgers of sinks, by pipeline and sink."""

    def add_first_rows(self, rows: Rows) -> None:
        """Add the rows that a source was declared with; only the first call has an effect."""
        with self.lock:
            if rows and not self._has_first_rows:
                self._has_first_rows = True
                self.add(rows)

    def add(self, rows: Rows) -> None:
        """Add a batch and pass it to all listeners; a batch that a listener refuses is not added."""
        batch = [dict(row) for row in rows]
        with self.lock:
            if batch:
                for listener in self._listeners:
                    listener(batch)
                self._batches.append(batch)

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each present and each future batch."""
        with self.lock:
            for batch in self._batches:
                listener(batch)
            self._listeners.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        with self.lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def contents(self) -> list[dict[str, Any]]:
        """Return all rows, in order."""
        with self.lock:
            return [dict(row) for batch in self._batches for row in batch]

    def clear(self) -> None:
        """Remove all rows and epochs."""
        with self.lock:
            self._batches.clear()
            self.ledgers = {sink: LedgerEntry(token=entry.token) for sink, entry in self.ledgers.items()}
            self._has_first_rows = False

    def commit(self, rows: Rows, *, replace: bool, key_of: KeyOf | None = None) -> None:
        """Add the rows of an epoch.

        Args:
            rows: the rows of the epoch.
            replace: whether the rows replace all earlier ones.
            key_of: the key of a row; with it, a row overwrites the earlier row of its key, and a retraction
                deletes it.
        """
        with self.lock:
            if replace:
                self._batches.clear()
            self.add(rows)
            if key_of is not None:
                self._batches = [_upsert(self.contents(), key_of)]


@dataclass(frozen=True)
class MemoryLedger:
    """Stores the ledger of one sink beside the rows; the caller holds the lock of the store."""

    store: MemoryStore
    sink: tuple[str, str]

    def read(self) -> LedgerEntry:
        return self.store.ledgers.get(self.sink, LedgerEntry())

    def take_over(self, entry: LedgerEntry) -> bool:
        return self.commit(entry)

    def commit(self, entry: LedgerEntry) -> bool:
        self.store.ledgers[self.sink] = entry
        return True


def _upsert(rows: Rows, key_of: KeyOf) -> list[dict[str, Any]]:
    """Return the newest row of each key, without keys whose newest row is a retraction or a deletion."""
    table: dict[Hashable, dict[str, Any]] = {}
    for row in rows:
        if _is_deletion(row):
            table.pop(key_of(row), None)
        else:
            table[key_of(row)] = {name: value for name, value in row.items() if not _is_change(name, value)}
    return list(table.values())


def _is_deletion(row: Mapping[str, Any]) -> bool:
    pane, change = row.get("pane"), row.get("change")
    if row.get(DELETED):
        return True
    if isinstance(pane, Mapping) and pane.get("retraction"):
        return True
    return _is_change("change", change) and change["op"] == "delete"  # type: ignore[index]


def _is_change(name: str, value: Any) -> bool:
    """True for the mark of a table's row, and for the struct that a CDC source adds to a row."""
    return name == DELETED or (
        name == "change" and isinstance(value, Mapping) and {"op", "lsn"} <= set(value)
    )


_stores: dict[str, MemoryStore] = {}
_stores_lock = threading.Lock()


def get_store(name: str) -> MemoryStore:
    """Return the store of that name in this process."""
    with _stores_lock:
        return _stores.setdefault(name, MemoryStore())
