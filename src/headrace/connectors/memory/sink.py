"""Keeps delivered rows in the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import Staged, WriteContext
from headrace.connectors.memory.shelf import Shelf
from headrace.errors import FencedError

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
        self._number = 0
        self._run: WriteContext | None = None

    def open(self, run: WriteContext) -> int:
        self._run = run
        self._number, epoch = self._shelf.take_over(self._key(run))
        return epoch

    def stage(self, epoch: int, frame: DataFrame) -> _Collected:
        return _Collected(frame.toArrow().to_pylist())

    def commit(self, epoch: int, staged: Staged) -> None:
        if self._run is None or not isinstance(staged, _Collected):
            raise TypeError("commit takes what stage of the same, open writer gave")
        replace = self._run.mode == "complete"
        key = self._key(self._run)
        if not self._shelf.deliver(key, epoch, staged.content, run=self._number, replace=replace):
            raise FencedError(
                f"epoch {epoch} is not written: a newer run has taken over",
                where=self._run.sink,
                hint="two runs of one pipeline write here; stop one of them",
            )

    def close(self) -> None:
        self._run = None

    @staticmethod
    def _key(run: WriteContext) -> tuple[str, str, str]:
        return run.pipeline, run.sink, run.checkpoint_id
