"""Progress reports of micro-batches, with the memory of the JVM."""

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
    """Since the previous report; Spark's own duration is wrong with a manual clock."""
    state_bytes: int
    """Off-heap memory reported by the state store."""
    visits: int
    """Timers that fired."""
    resident: int
    """Resident memory of the JVM in bytes."""


class EpochListener(StreamingQueryListener):
    """Collects the micro-batches of all queries."""

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

    def wait_for_reports(self) -> list[Epoch]:
        """Return all micro-batches after the last report."""
        self._ended.wait(30)
        return self.epochs


@contextmanager
def watch_epochs(spark: SparkSession) -> Iterator[EpochListener]:
    """Collect the micro-batches of queries that run in the block."""
    listener = EpochListener(spark)
    spark.streams.addListener(listener)
    try:
        yield listener
    finally:
        spark.streams.removeListener(listener)


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 without `/proc`."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
