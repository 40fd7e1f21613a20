"""Where the memory connector keeps its rows: in the process, in the order they came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


class Shelf:
    """Lots of rows. A lot is what was added or delivered at once; a source's offset counts them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lots: list[list[dict[str, Any]]] = []
        self._listeners: list[Callable[[Rows], None]] = []
        self._stocked = False
        self._run = 0
        self._epochs: dict[tuple[str, str, str], int] = {}

    def stock(self, rows: Rows) -> None:
        """Put a source's first rows there, unless that has been done."""
        with self._lock:
            if rows and not self._stocked:
                self._stocked = True
                self.add(rows)

    def add(self, rows: Rows) -> None:
        """One more lot, also for all who listen."""
        lot = [dict(row) for row in rows]
        with self._lock:
            if lot:
                self._lots.append(lot)
                for listener in self._listeners:
                    listener(lot)

    def listen(self, listener: Callable[[Rows], None]) -> None:
        """Call `listener` with each lot there is, and each to come."""
        with self._lock:
            for lot in self._lots:
                listener(lot)
            self._listeners.append(listener)

    def forget(self, listener: Callable[[Rows], None]) -> None:
        """Stop calling `listener`."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def contents(self) -> list[dict[str, Any]]:
        """All rows, in order."""
        with self._lock:
            return [dict(row) for lot in self._lots for row in lot]

    def clear(self) -> None:
        """Forget all rows and all epochs."""
        with self._lock:
            self._lots.clear()
            self._epochs.clear()
            self._stocked = False

    def take_over(self, key: tuple[str, str, str]) -> tuple[int, int]:
        """The number of a new run, and the last epoch of its lineage."""
        with self._lock:
            self._run += 1
            return self._run, self._epochs.get(key, -1)

    def deliver(self, key: tuple[str, str, str], epoch: int, rows: Rows, *, run: int, replace: bool) -> bool:
        """Keep an epoch's rows once; false if a newer run has taken over."""
        with self._lock:
            if run != self._run:
                return False
            if epoch > self._epochs.get(key, -1):
                if replace:
                    self._lots.clear()
                self._epochs[key] = epoch
                self.add(rows)
            return True


_named: dict[str, Shelf] = {}
_named_lock = threading.Lock()


def shelf(name: str) -> Shelf:
    """The shelf of that name in this process."""
    with _named_lock:
        return _named.setdefault(name, Shelf())
