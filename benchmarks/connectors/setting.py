"""Input and outcome of a side, and the timing of Spark sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from benchmarks.engines.consumed import Consumed, measure_range
from benchmarks.progress_reports import listen_to_progress

COLUMNS = "k string, v int, ts bigint, note string"
FEW = "v < 100"
"""A tenth of the events."""
DISORDER = "1 second"


@dataclass(frozen=True)
class Setting:
    """The topic, the events to read, and the target of results."""

    servers: str
    topic: str
    warm: int
    events: int
    batch: int
    place: Path
    database: str = ""
    """The address of PostgreSQL, for the cases that write to it, or of the server of a lookup."""
    right: str = ""
    """The topic of the right side of a join."""

    def checkpoint(self) -> Path:
        """Return a new checkpoint directory: every run starts at the earliest offset."""
        return self.place / uuid4().hex


@dataclass(frozen=True)
class Outcome:
    """The rate of a side, and its number of results if it counts them."""

    consumed: Consumed
    results: int | None = None


@dataclass(frozen=True)
class Side:
    """The implementation of a case on one engine."""

    name: str
    run: Callable[[Setting], Outcome]
    aim: float | None = None
    """Target for the ratio of Headrace's rate to this side's."""
    share: float = 1.0
    """The share of the events to measure, for sides too slow for all."""


@dataclass
class Batches:
    """Samples of the events read from Kafka at the end of each micro-batch."""

    samples: list[tuple[float, int]] = field(default_factory=list)

    def add(self, report: dict[str, Any]) -> None:
        """Add the report of a batch that read events."""
        start = datetime.fromisoformat(report["timestamp"]).timestamp()
        took = report["durationMs"]["triggerExecution"] / 1000
        ends = [source["endOffset"] for source in report["sources"] if "Kafka" in source["description"]]
        if report["numInputRows"] and ends:
            topics = {topic: offsets for end in ends for topic, offsets in end.items()}
            consumed = sum(sum(offsets.values()) for offsets in topics.values())
            if not self.samples:
                self.samples.append((start, 0))
            self.samples.append((start + took, consumed))


def get_session() -> SparkSession:
    """Return the session of all Spark sides; the active session of a thread may be another."""
    return SparkSession.builder.getOrCreate()


def measure_run(setting: Setting, run: Callable[[], None]) -> Consumed:
    """Run a query to its end and return the time of the measured events."""
    batches = Batches()
    with listen_to_progress(get_session(), batches.add):
        run()
    return measure_range(batches.samples, setting.warm, setting.events)
