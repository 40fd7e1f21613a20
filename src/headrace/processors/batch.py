"""The loop of a processor over a bounded input, sorted by key; no state is stored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow

from headrace.processors.times import END, BatchTime
from headrace.processors.worker import NEW_KEY, ProcessorCall, ProcessorLoop, Visits


class BatchLoop(ProcessorLoop):
    """Runs a processor over the rows of a task; every pending timer fires after the rows of its key."""

    def __init__(self, call: ProcessorCall) -> None:
        super().__init__(call)
        self._last: tuple[Any, ...] | None = None
        self._clock = time.time_ns() // 1000

    def _visits(self, batch: pyarrow.RecordBatch, keys: Sequence[tuple[Any, ...]]) -> Visits:
        before = [self._last, *keys[:-1]]
        self._last = keys[-1]
        kinds = [NEW_KEY if key != last else 0 for key, last in zip(keys, before, strict=True)]
        nulls = [None] * len(keys)
        return Visits(kinds, nulls, nulls, [self._clock] * len(keys))

    def _end_visit(self) -> None:
        runtime = self._runtime
        runtime.begin(runtime.key, self._end().content, BatchTime(END, END, self._call.timed))
        self._end()
        self._active = False
        self._stop_on_failure()
