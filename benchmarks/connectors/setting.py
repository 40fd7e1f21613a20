"""What every side of a case is given, what it gives back, and how a Spark side is timed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from benchmarks.engines.taken import Taken, measured

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import QueryProgressEvent

COLUMNS = "k string, v int, ts bigint, note string"
FEW = "v < 100"
"""A tenth of the events."""
DISORDER = "1 second"


@dataclass(frozen=True)
class Setting:
    """The topic, how much of it is read, and where results may go."""

    servers: str
    topic: str
    warm: int
    events: int
    batch: int
    place: Path
    database: str = ""
    """The address of a PostgreSQL, for the cases that write to one."""

    def checkpoint(self) -> Path:
        """A new one: every run starts at the topic's beginning."""
        return self.place / uuid4().hex


@dataclass(frozen=True)
class Outcome:
    """How fast a side was, and how many results it gave where it can tell."""

    taken: Taken
    results: int | None = None


@dataclass(frozen=True)
class Side:
    """One engine's way to do a case."""

    name: str
    run: Callable[[Setting], Outcome]
    aim: float | None = None
    """How many times as fast as this Headrace is to be."""
    share: float = 1.0
    """The share of the events that is enough to measure it by, where it is too slow for all."""


@dataclass
class Batches(StreamingQueryListener):
    """When each micro-batch ended, and how many events had been taken from Kafka by then."""

    seen: list[tuple[float, int]] = field(default_factory=list)

    def taken(self, events: int) -> bool:
        """Whether so many have been taken."""
        return bool(self.seen) and self.seen[-1][1] >= events

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """It counts from its first batch."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Note a batch that read something."""
        report = event.progress
        begun = datetime.fromisoformat(report.timestamp).timestamp()
        took = report.durationMs["triggerExecution"] / 1000
        ends = [source.endOffset for source in report.sources if "Kafka" in source.description]
        if report.numInputRows and ends:
            taken = sum(sum(offsets.values()) for offsets in json.loads(ends[0]).values())
            if not self.seen:
                self.seen.append((begun, 0))
            self.seen.append((begun + took, taken))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing was read."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Its last batch has been told by then."""


def timed(given: Setting, run: Callable[[], None], patience: float = 30) -> Taken:
    """Run a query to its end, and tell how long it took for the events that count."""
    spark = SparkSession.active()
    batches = Batches()
    spark.streams.addListener(batches)
    try:
        run()
        deadline = time.monotonic() + patience  # reports come a little after the batches that they tell of
        while not batches.taken(given.warm + given.events) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        spark.streams.removeListener(batches)
    return measured(batches.seen, given.warm, given.events)
