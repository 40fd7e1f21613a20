"""The sink that replaces every sink of a case and collects rows for `expect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.connectors.base import Staged, WriteContext, WriteMode
from headrace.runtime.virtual_time import CollectedRows, collect
from headrace.testing.transcripts.outputs import Output, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Collector:
    """The rows of one output, each epoch once, across restarts."""

    def __init__(self, mode: WriteMode | None) -> None:
        self.complete = mode == "complete"
        self.history: list[Output] = []
        """All rows."""
        self._rows: list[Output] = []
        self._epochs: dict[str, int] = {}

    def take(self) -> list[Output]:
        """Return the rows since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def last(self, checkpoint_id: str) -> int:
        return self._epochs.get(checkpoint_id, -1)

    def add(self, checkpoint_id: str, epoch: int, rows: list[Output]) -> None:
        if epoch > self.last(checkpoint_id):
            self._epochs[checkpoint_id] = epoch
            self.history = rows if self.complete else [*self.history, *rows]
            self._rows = rows if self.complete else [*self._rows, *rows]


class _Rows:
    def __init__(self, collected: CollectedRows) -> None:
        self.content = rows_of(collected.schema, collected.rows)

    @property
    def rows(self) -> int:
        return len(self.content)


class CollectingWriter:
    """A writer that collects rows."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._checkpoint_id = ""

    def open(self, run: WriteContext) -> int:
        self._checkpoint_id = run.checkpoint_id
        return self._collector.last(run.checkpoint_id)

    def stage(self, epoch: int, frame: DataFrame) -> Staged:
        return _Rows(collect(frame))

    def commit(self, epoch: int, staged: Staged) -> None:
        assert isinstance(staged, _Rows)
        self._collector.add(self._checkpoint_id, epoch, staged.content)

    def close(self) -> None: ...
