"""The cost of a micro-batch of an interval join with many keys in state, of which few have rows in it.

Two pipelines: one has ten times the keys of the other in state, a view of each. Then both read clicks, in
micro-batches of as many keys.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness import Measured, report
from benchmarks.joins.events import Clicks, Views
from benchmarks.topics import PARTITIONS, START, create_empty_topic, send

TOUCHED = 10_000
BATCHES = 8
TURNS = 3
"""Runs of each pipeline; the first micro-batch of a run loads the state and does not count."""


class AllViews(Views):
    """One view of each key."""

    def key(self, number: int) -> int:
        return number % self.keys

    def line(self, number: int, key: int, at: int) -> bytes:
        return super().line(number, key, START)  # the watermark stands still, and all rows stay in state


class SomeClicks(Clicks):
    """Clicks on different keys, spread over all."""

    def key(self, number: int) -> int:
        stride = max(1, self.keys // TOUCHED)
        return (number * stride + number % 2 + number // TOUCHED * 7919) % self.keys

    def line(self, number: int, key: int, at: int) -> bytes:
        return super().line(number, key, START)


@dataclass
class Held:
    """A pipeline with so many keys in state."""

    keys: int
    servers: str
    place: Path
    results: int = 0
    seconds: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)

    def load(self, spark: Any) -> None:
        """Create the topics and read a view of each key."""
        create_empty_topic(self.servers, self.views.topic)
        create_empty_topic(self.servers, self.clicks.topic)
        self._send(self.views)
        self.run(spark, self.keys // 4)

    def turn(self, spark: Any) -> None:
        """Read clicks in micro-batches of so many keys."""
        self._send(self.clicks)
        first, *rest = self.run(spark, TOUCHED)
        self.firsts.append(first)
        self.seconds += rest

    @property
    def views(self) -> AllViews:
        return AllViews(self.keys, self.keys)

    @property
    def clicks(self) -> SomeClicks:
        return SomeClicks(TOUCHED * BATCHES, self.keys)

    def _send(self, rows: Views | Clicks) -> None:
        for partition in range(PARTITIONS):
            send(self.servers, partition, rows)

    def run(self, spark: Any, batch: int) -> list[float]:
        """Continue from the checkpoint; returns the seconds of each micro-batch with a full load."""
        from benchmarks.joins.streams import CLICKS, SELECT_PAIR, VIEWS
        from benchmarks.noop_sink import NoopSink
        from benchmarks.progress_reports import listen_to_progress
        from headrace import Pipeline, connect

        pipeline, sink = Pipeline(f"held-{self.keys}"), NoopSink()

        def read(name: str, topic: str, schema: str) -> Any:
            source = connect.kafka(servers=self.servers, topic=topic, max_per_batch=batch)
            rows = pipeline.read(name, source, format="json", schema=schema)
            return rows.with_columns(at="timestamp_millis(ts)").event_time("at", out_of_order="10 seconds")

        views, clicks = read("views", self.views.topic, VIEWS), read("clicks", self.clicks.topic, CLICKS)
        pairs = views.join("pairs", clicks, on="ad", within=("0 seconds", "10 minutes"), select=SELECT_PAIR)
        pairs.write("out", sink)
        took: list[float] = []

        def add(progress: dict[str, Any]) -> None:
            if progress["numInputRows"] >= batch * 0.9:
                took.append(progress["durationMs"]["triggerExecution"] / 1000)

        with listen_to_progress(spark, add):
            pipeline.run(until="caught_up", checkpoint=self.place / str(self.keys))
        self.results += sink.tally.panes
        return took


def main(servers: str, options: argparse.Namespace) -> list[Measured]:
    """Measure both, in turn.

    Raises:
        RuntimeError: the results differ.
    """
    from headrace.spark.jars import fetch
    from headrace.spark.session import open_session

    conf = {"spark.driver.memory": options.memory}
    spark = open_session("bench-joins", master="local[2]", conf=conf, jars=fetch("kafka"))
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place:
        both = [Held(keys, servers, Path(place)) for keys in (options.table // 10, options.table)]
        for held in both:
            held.load(spark)
        for _ in range(TURNS):
            for held in both:
                held.turn(spark)
    spark.stop()
    if {held.results for held in both} != {TOUCHED * BATCHES * TURNS}:
        raise RuntimeError(f"the results differ: {[held.results for held in both]}")
    measured = [Measured(f"{held.keys:,} keys in state", tuple(held.seconds), TOUCHED) for held in both]
    report(f"a batch of {TOUCHED:,} clicks", measured)
    for held in both:
        print(f"{held.keys:,} keys: the first batch of a run takes {min(held.firsts):.2f} s")
    ratio = measured[1].median / measured[0].median
    print(f"a batch costs {ratio:.2f} times as much with ten times the keys (aim: 1.5 at most)", flush=True)
    return measured
