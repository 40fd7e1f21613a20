"""Records which rows a worker is processing, for the error message if the worker dies.

The record is a file in Spark's local directory. The kernel reads it when the worker's socket closes, and maps
the row numbers to positions.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow


class BatchNote:
    """The file of one task and step; not written if Spark has no local directory."""

    def __init__(self, step: str, task: int | None) -> None:
        directory = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
        enabled = directory and task is not None
        self._path = Path(directory) / f"headrace-{task}-{step.encode().hex()}" if enabled else None
        self._rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def write(self, batch: pyarrow.RecordBatch) -> None:
        """Record the first and last row of a batch, by their numbers in the task."""
        if self._path is None or not batch.num_rows:
            return
        first, last = self._rows + 1, self._rows + batch.num_rows
        self._rows = last
        with contextlib.suppress(OSError):  # used for an error message only
            self._path.write_text(f"rows {first} to {last} of its task", encoding="utf-8")
