"""What Spark reports of each micro-batch, and how much memory the JVM has at that moment."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener


@dataclass(frozen=True)
class Epoch:
    """One micro-batch with data."""

    number: int
    rows: int
    millis: float
    """Since the report before it. Spark's own account stands still where a query lives by a clock that
    does.
    """
    state_bytes: int
    """What the state store says it uses outside the heap."""
    visits: int
    """Timers that came."""
    resident: int
    """Bytes of the JVM in memory, heap and all else."""


class Watch(StreamingQueryListener):
    """Collects the micro-batches of whatever runs."""

    def __init__(self, spark: SparkSession) -> None:
        self._pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        self._ended = threading.Event()
        self._last = time.perf_counter()
        self.epochs: list[Epoch] = []

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        self._ended.clear()
        self._last = time.perf_counter()

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        before, self._last = self._last, time.perf_counter()
        report = json.loads(event.progress.json)
        rows = sum(source["numInputRows"] for source in report["sources"])
        if rows == 0:
            return
        states = report["stateOperators"]
        own = [state.get("customMetrics", {}) for state in states]
        self.epochs.append(
            Epoch(
                report["batchId"],
                rows,
                (self._last - before) * 1000,
                sum(state["memoryUsedBytes"] for state in states),
                sum(metrics.get("numExpiredTimers", 0) for metrics in own),
                resident(self._pid),
            )
        )

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self._ended.set()

    def settled(self) -> list[Epoch]:
        """All micro-batches, once the last report has come."""
        self._ended.wait(30)
        return self.epochs


@contextmanager
def watched(spark: SparkSession) -> Iterator[Watch]:
    """Watch what runs inside."""
    watch = Watch(spark)
    spark.streams.addListener(watch)
    try:
        yield watch
    finally:
        spark.streams.removeListener(watch)


def resident(pid: int) -> int:
    """The resident memory of a process in bytes; 0 where the system doesn't tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
