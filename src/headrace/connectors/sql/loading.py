"""What a task does with its rows: loads them, as lines, into staging tables, in one chunk or one for each batch of Arrow's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from headrace.connectors.sql.dialect import APART, Dialect
from headrace.connectors.sql.lines import content
from headrace.connectors.sql.patience import connected, told_by_task

if TYPE_CHECKING:
    from pyarrow import RecordBatch

RESULT = "chunk bigint, rows bigint"
_CHUNKS, _ROWS = 20, 33
"""The bits of a chunk's number that count the chunks of an attempt, and those of a row's that count the rows of a task."""
_LARGE = 1 << 20
"""Bytes of a chunk that is worth a table of its own: whoever takes it reads nothing else, and no row of it has to be looked up."""


def attempt_of(chunk: int) -> int:
    """The attempt of a task that loaded a chunk."""
    return chunk >> _CHUNKS


def task_of(first: int) -> int:
    """The task, whichever its attempt, that has a row of this number."""
    return first >> _ROWS


@dataclass(frozen=True)
class Loader:
    """Loads the lines of a task; sent to the executors.

    Args:
        dialect: how to speak to the server.
        stage: the staging table.
        register: the table in which each chunk that is loaded is told of; empty if all of a task is one chunk.
        columns: of a line after its number, with Spark's names of their types.
        patience: how many seconds a server that is away is waited for.
        running: tells the numbers of the attempt and of the task, on the executor.
    """

    dialect: Dialect
    stage: str
    register: str
    columns: dict[str, str]
    patience: float
    running: Callable[[], tuple[int, int]]

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow

        attempt, task = self.running()
        sizes: dict[int, int] = {}
        row = task << _ROWS
        first = _with_rows(batches)
        if first is None:
            return
        # Only the connection is waited for: lines that have been taken from Spark can't be taken again.
        with told_by_task(self.dialect), connected(self.dialect, self.patience) as database:
            while first is not None:
                large = self.register and first.nbytes >= _LARGE
                chunk = attempt << _CHUNKS | (APART if large else 0) | len(sizes)
                lines = _Lines([first] if self.register else chain([first], batches))
                database.load(self.stage, self.columns, chunk, lines)
                if self.register:
                    tell = f"INSERT INTO {self.dialect.quoted(self.register)} VALUES (%s, %s, %s, %s)"
                    database.execute(tell, (chunk, row, lines.rows, lines.keys))
                sizes[chunk], row = lines.rows, row + lines.rows
                first = _with_rows(batches)
        yield pyarrow.record_batch({"chunk": list(sizes), "rows": list(sizes.values())})


class _Lines:
    """The lines of some batches; what was taken is counted."""

    def __init__(self, batches: Iterable[RecordBatch]) -> None:
        self._batches = batches
        self.rows = 0
        self.keys = b""

    def __iter__(self) -> Iterator[bytes]:
        for batch in self._batches:
            part = content(batch)
            self.rows += part.count(b"\n")  # within values they are escaped
            self.keys += content(batch, 1)
            yield part


def _with_rows(batches: Iterator[RecordBatch]) -> RecordBatch | None:
    return next((batch for batch in batches if batch.num_rows), None)
