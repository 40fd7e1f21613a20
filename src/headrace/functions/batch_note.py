"""A note of the rows that a worker is processing, for the error if it dies.

It is a file beside Spark's own local files, which the kernel reads when the worker's socket closes; it knows
the positions of the rows.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow


class BatchNote:
    """The file of one task and step; without a directory for local files, nothing is written."""

    def __init__(self, step: str, task: int | None) -> None:
        directory = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
        known = directory and task is not None
        self._path = Path(directory) / f"headrace-{task}-{step.encode().hex()}" if known else None
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
        """Note the first and last row of a batch, by their numbers in the task."""
        if self._path is None or not batch.num_rows:
            return
        first, last = self._rows + 1, self._rows + batch.num_rows
        self._rows = last
        with contextlib.suppress(OSError):  # the note is for an error message; the run goes on without it
            self._path.write_text(f"rows {first} to {last} of its task", encoding="utf-8")
