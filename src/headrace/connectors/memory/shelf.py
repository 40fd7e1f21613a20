"""Where the memory connector keeps its rows: in the process, in the order they came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.ledger import LedgerEntry

Rows = Sequence[Mapping[str, Any]]


class Shelf:
    """Lots of rows. A lot is what was added or delivered at once; a source's offset counts them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._lots: list[list[dict[str, Any]]] = []
        self._listeners: list[Callable[[Rows], None]] = []
        self._stocked = False
        self.ledger: dict[tuple[str, str], LedgerEntry] = {}
        """The ledgers of sinks, by pipeline and sink."""

    def stock(self, rows: Rows) -> None:
        """Put a source's first rows there, unless that has been done."""
        with self.lock:
            if rows and not self._stocked:
                self._stocked = True
                self.add(rows)

    def add(self, rows: Rows) -> None:
        """One more lot, also for all who listen."""
        lot = [dict(row) for row in rows]
        with self.lock:
            if lot:
                self._lots.append(lot)
                for listener in self._listeners:
                    listener(lot)

    def listen(self, listener: Callable[[Rows], None]) -> None:
        """Call `listener` with each lot there is, and each to come."""
        with self.lock:
            for lot in self._lots:
                listener(lot)
            self._listeners.append(listener)

    def forget(self, listener: Callable[[Rows], None]) -> None:
        """Stop calling `listener`."""
        with self.lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def contents(self) -> list[dict[str, Any]]:
        """All rows, in order."""
        with self.lock:
            return [dict(row) for lot in self._lots for row in lot]

    def clear(self) -> None:
        """Forget all rows and all epochs."""
        with self.lock:
            self._lots.clear()
            self.ledger = {sink: LedgerEntry(token=entry.token) for sink, entry in self.ledger.items()}
            self._stocked = False

    def deliver(self, rows: Rows, *, replace: bool) -> None:
        """Add the rows of an epoch, or replace all rows by them."""
        with self.lock:
            if replace:
                self._lots.clear()
            self.add(rows)


@dataclass(frozen=True)
class ShelfLedger:
    """Stores the ledger of one sink beside the rows; the caller holds the lock of the shelf."""

    shelf: Shelf
    sink: tuple[str, str]

    def read(self) -> LedgerEntry:
        return self.shelf.ledger.get(self.sink, LedgerEntry())

    def take_over(self, entry: LedgerEntry) -> bool:
        return self.commit(entry)

    def commit(self, entry: LedgerEntry) -> bool:
        self.shelf.ledger[self.sink] = entry
        return True


_named: dict[str, Shelf] = {}
_named_lock = threading.Lock()


def shelf(name: str) -> Shelf:
    """The shelf of that name in this process."""
    with _named_lock:
        return _named.setdefault(name, Shelf())
