"""The engines: events/s after a warm-up in the same run."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.cpu_meter import CpuMeter
from benchmarks.patterns import flink_sql, headrace_side, plain_pyspark
from benchmarks.patterns.events import WITHIN, CardEvents, answers
from benchmarks.progress_reports import listen_to_progress
from benchmarks.topics import START

RULES = (1, 10, 100)
CORES = "2"
MEMORY = "2g"
MASTER = f"local[{CORES}]"


@dataclass(frozen=True)
class Settings:
    """The topic, the warm-up events and the measured events."""

    servers: str
    topic: str
    warm: int
    events: int
    epoch: int
    """Events per Spark micro-batch."""


@dataclass(frozen=True)
class Result:
    """The measurement of an engine."""

    engine: str
    events: int
    seconds: float
    cpu: float | None = None
    """CPU seconds of all its processes."""
    answers: int | None = None
    """The number of matches, if the engine counts them."""

    @property
    def rate(self) -> float:
        return self.events / self.seconds


class Samples:
    """Samples of the events consumed and the CPU time over time."""

    def __init__(self, meter: CpuMeter) -> None:
        self._meter = meter
        self._samples = [(time.monotonic(), 0, meter.seconds())]

    @property
    def count(self) -> int:
        return self._samples[-1][1]

    def add(self, count: int) -> None:
        """Add a sample with the total of consumed events."""
        self._samples.append((time.monotonic(), count, self._meter.seconds()))

    def result(self, engine: str, setting: Settings, answers: int | None = None) -> Result:
        """Return the measurement after the warm-up, interpolated between samples."""
        begin, end = self._at(setting.warm), self._at(setting.warm + setting.events)
        return Result(engine, setting.events, end[0] - begin[0], end[1] - begin[1], answers)

    def _at(self, count: int) -> tuple[float, float]:
        for (before, fewer, cpu), (after, more, later) in pairwise(self._samples):
            if fewer <= count <= more and more > fewer:
                share = (count - fewer) / (more - fewer)
                return before + (after - before) * share, cpu + (later - cpu) * share
        raise SystemExit(f"{self.count} events were consumed, not {count}")


@contextmanager
def watch_progress(spark: Any) -> Iterator[Samples]:
    """Sample the progress of Spark queries that run in the block."""
    with CpuMeter() as meter:
        samples = Samples(meter)

        def add(report: dict[str, Any]) -> None:
            samples.add(samples.count + sum(source["numInputRows"] for source in report["sources"]))

        with listen_to_progress(spark, add):
            yield samples


def session(setting: Settings) -> Any:
    """Open a Spark session with the jars for Kafka."""
    from headrace.spark.jars import jars_for
    from headrace.spark.session import open_session

    pipeline, _ = headrace_side.job(setting.servers, setting.topic, setting.epoch)
    conf = {"spark.driver.memory": MEMORY, "spark.ui.enabled": "false"}
    return open_session("cards", master=MASTER, conf=conf, jars=jars_for(pipeline._plan().connectors))


def headrace(setting: Settings, spark: Any, engine: str = "headrace", rules: int = 0) -> Result:
    """Measure a pattern in Headrace, or a table with a number of rules."""
    with tempfile.TemporaryDirectory(prefix="headrace-patterns-") as place, watch_progress(spark) as samples:
        table = headrace_side.write_rules(Path(place) / "rules.json", rules) if rules else None
        pipeline, out = headrace_side.job(setting.servers, setting.topic, setting.epoch, table)
        pipeline.run(until="drained", checkpoint=Path(place) / "checkpoint")
    return samples.result(engine, setting, out.tally.panes)


def in_python(setting: Settings, spark: Any, processed: Callable[[Any], Any], engine: str) -> Result:
    """Measure a stateful processor in Python."""
    from benchmarks.noop_sink import Tally

    tally = Tally()
    frame = processed(plain_pyspark.events(spark, setting.servers, setting.topic, setting.epoch))
    with tempfile.TemporaryDirectory(prefix="headrace-patterns-") as place, watch_progress(spark) as samples:
        writer = frame.writeStream.foreachBatch(tally.take).option("checkpointLocation", place)
        writer.trigger(availableNow=True).start().awaitTermination()
    return samples.result(engine, setting, tally.panes)


def flink(setting: Settings, engine: str, query: str) -> Result:
    """A query in Flink SQL."""
    with flink_sql.running(query, setting.servers, setting.topic) as consumed, CpuMeter() as meter:
        samples = Samples(meter)
        while samples.count < setting.warm + setting.events:
            time.sleep(0.1)
            samples.add(max(samples.count, consumed()))
    return samples.result(engine, setting)


def pathway(setting: Settings, engine: str = "pathway") -> Result:
    """Measure Pathway in its own environment; it must find every pair."""
    script = Path(__file__).with_name("pathway_join.py")
    numbers = (START, setting.warm, WITHIN)
    process = subprocess.run(
        ["uv", "run", "--script", str(script), setting.servers, setting.topic, *map(str, numbers)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PATHWAY_THREADS": CORES},
    )
    message = json.loads(process.stdout.splitlines()[-1])
    pairs = answers(CardEvents.of(setting.topic)).pairs
    if message["answers"] != pairs:
        raise SystemExit(f"Pathway found {message['answers']:,} of {pairs:,} pairs")
    return Result(engine, **message)


def _rules(count: int) -> tuple[str, Callable[[Settings], Result]]:
    name = f"rules-{count}"
    return f"Headrace, {count} rules", lambda setting: headrace(setting, session(setting), name, rules=count)


ENGINES: dict[str, tuple[str, Callable[[Settings], Result]]] = {
    "headrace": ("Headrace, pattern", lambda setting: headrace(setting, session(setting))),
    "flink-match": (
        "Flink SQL, MATCH_RECOGNIZE",
        lambda setting: flink(setting, "flink-match", flink_sql.MATCH_RECOGNIZE),
    ),
    "flink-join": (
        "Flink SQL, interval join",
        lambda setting: flink(setting, "flink-join", flink_sql.INTERVAL_JOIN),
    ),
    "pathway": ("Pathway, interval join", pathway),
    "python-rows": (
        "Python transformWithState, rows",
        lambda setting: in_python(setting, session(setting), plain_pyspark.over_rows, "python-rows"),
    ),
    "python-pandas": (
        "Python transformWithStateInPandas",
        lambda setting: in_python(setting, session(setting), plain_pyspark.over_frames, "python-pandas"),
    ),
    **{f"rules-{count}": _rules(count) for count in RULES},
}
