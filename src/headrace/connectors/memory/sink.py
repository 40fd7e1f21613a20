"""Keeps delivered rows in the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import Staged, WriteContext
from headrace.connectors.ledger import Ledger
from headrace.connectors.memory.shelf import Shelf, ShelfLedger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class _Collected:
    content: list[dict[str, Any]]

    @property
    def rows(self) -> int:
        return len(self.content)


class MemoryWriter:
    """Delivers epochs to a shelf: `append` and `update` add rows, `complete` replaces them."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._context: WriteContext | None = None
        self._ledger: Ledger | None = None

    def open(self, context: WriteContext) -> int:
        self._context = context
        storage = ShelfLedger(self._shelf, (context.pipeline, context.sink))
        self._ledger = Ledger(storage, context, "the rows in memory")
        with self._shelf.lock:
            return self._ledger.take_over()

    def stage(self, epoch: int, frame: DataFrame) -> _Collected:
        return _Collected(frame.toArrow().to_pylist())

    def commit(self, epoch: int, staged: Staged) -> None:
        if self._context is None or self._ledger is None or not isinstance(staged, _Collected):
            raise TypeError("commit takes the result of stage, of the same open writer")
        with self._shelf.lock:
            if not self._ledger.has(epoch):
                self._ledger.commit(epoch)
                self._shelf.deliver(staged.content, replace=self._context.mode == "complete")

    def close(self) -> None:
        self._context = self._ledger = None
