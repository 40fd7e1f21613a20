"""What every side of a case is given, what it gives back, and how a Spark side is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from benchmarks.engines.taken import Taken, measured
from benchmarks.reports import reports

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
    """The address of a PostgreSQL, for the cases that write to one, or of the server of a lookup."""
    right: str = ""
    """The topic of the right side of a join."""

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
class Batches:
    """When each micro-batch ended, and how many events had been taken from Kafka by then."""

    seen: list[tuple[float, int]] = field(default_factory=list)

    def add(self, report: dict[str, Any]) -> None:
        """Note a batch that read something."""
        begun = datetime.fromisoformat(report["timestamp"]).timestamp()
        took = report["durationMs"]["triggerExecution"] / 1000
        ends = [source["endOffset"] for source in report["sources"] if "Kafka" in source["description"]]
        if report["numInputRows"] and ends:
            topics = {topic: offsets for end in ends for topic, offsets in end.items()}
            taken = sum(sum(offsets.values()) for offsets in topics.values())
            if not self.seen:
                self.seen.append((begun, 0))
            self.seen.append((begun + took, taken))


def shared_session() -> SparkSession:
    """The session that every Spark side uses; the active one of a thread may be another."""
    return SparkSession.builder.getOrCreate()


def timed(setting: Setting, run: Callable[[], None]) -> Taken:
    """Run a query to its end, and tell how long it took for the events that count."""
    batches = Batches()
    with reports(shared_session(), batches.add):
        run()
    return measured(batches.seen, setting.warm, setting.events)
