"""Each engine on its own: events/s on the events after a warm-up, in the same run."""

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
from benchmarks.patterns import by_hand, flinks, ours
from benchmarks.patterns.events import WITHIN, CardEvents, answers
from benchmarks.reports import reports
from benchmarks.topics import START

RULES = (1, 10, 100)
CORES = "2"
MEMORY = "2g"
MASTER = f"local[{CORES}]"


@dataclass(frozen=True)
class Given:
    """What every engine gets: a topic, how many events warm it up, how many are measured."""

    servers: str
    topic: str
    warm: int
    events: int
    epoch: int
    """Events in a micro-batch, for engines that have such."""


@dataclass(frozen=True)
class Result:
    """What an engine did."""

    engine: str
    events: int
    seconds: float
    cpu: float | None = None
    """CPU seconds, over all of its processes; on a machine that has other work to do they say more than
    those on the wall.
    """
    answers: int | None = None
    """Where it counts them."""

    @property
    def rate(self) -> float:
        return self.events / self.seconds


class Seen:
    """How far an engine had come at which moments, and with how much CPU time."""

    def __init__(self, meter: CpuMeter) -> None:
        self._meter = meter
        self._looks = [(time.monotonic(), 0, meter.seconds())]

    @property
    def count(self) -> int:
        return self._looks[-1][1]

    def add(self, count: int) -> None:
        """So many events have been taken by now."""
        self._looks.append((time.monotonic(), count, self._meter.seconds()))

    def result(self, engine: str, setting: Given, answers: int | None = None) -> Result:
        """From the end of the warm-up on; between two looks in proportion."""
        begin, end = self._at(setting.warm), self._at(setting.warm + setting.events)
        return Result(engine, setting.events, end[0] - begin[0], end[1] - begin[1], answers)

    def _at(self, count: int) -> tuple[float, float]:
        for (before, fewer, cpu), (after, more, later) in pairwise(self._looks):
            if fewer <= count <= more and more > fewer:
                share = (count - fewer) / (more - fewer)
                return before + (after - before) * share, cpu + (later - cpu) * share
        raise SystemExit(f"{self.count} events were taken, not {count}")


@contextmanager
def reported(spark: Any) -> Iterator[Seen]:
    """What Spark reports of micro-batches, as they end."""
    with CpuMeter() as meter:
        seen = Seen(meter)

        def add(report: dict[str, Any]) -> None:
            seen.add(seen.count + sum(source["numInputRows"] for source in report["sources"]))

        with reports(spark, add):
            yield seen


def session(setting: Given) -> Any:
    """A Spark with the jars for Kafka."""
    from headrace.spark.jars import jars_for
    from headrace.spark.session import open_session

    pipeline, _ = ours.job(setting.servers, setting.topic, setting.epoch)
    conf = {"spark.driver.memory": MEMORY, "spark.ui.enabled": "false"}
    return open_session("cards", master=MASTER, conf=conf, jars=jars_for(pipeline.check().connectors))


def headrace(setting: Given, spark: Any, engine: str = "headrace", rules: int = 0) -> Result:
    """A pattern in Headrace, or a table of so many rules."""
    with tempfile.TemporaryDirectory(prefix="headrace-patterns-") as place, reported(spark) as seen:
        table = ours.write_rules(Path(place) / "rules.json", rules) if rules else None
        pipeline, out = ours.job(setting.servers, setting.topic, setting.epoch, table)
        pipeline.run(until="drained", checkpoint=Path(place) / "checkpoint")
    return seen.result(engine, setting, out.tally.panes)


def in_python(setting: Given, spark: Any, processed: Callable[[Any], Any], engine: str) -> Result:
    """A stateful processor in Python."""
    from benchmarks.nowhere import Tally

    tally = Tally()
    frame = processed(by_hand.events(spark, setting.servers, setting.topic, setting.epoch))
    with tempfile.TemporaryDirectory(prefix="headrace-patterns-") as place, reported(spark) as seen:
        writer = frame.writeStream.foreachBatch(tally.take).option("checkpointLocation", place)
        writer.trigger(availableNow=True).start().awaitTermination()
    return seen.result(engine, setting, tally.panes)


def flink(setting: Given, engine: str, query: str) -> Result:
    """A query in Flink SQL."""
    with flinks.running(query, setting.servers, setting.topic) as taken, CpuMeter() as meter:
        seen = Seen(meter)
        while seen.count < setting.warm + setting.events:
            time.sleep(0.1)
            seen.add(max(seen.count, taken()))
    return seen.result(engine, setting)


def pathway(setting: Given, engine: str = "pathway") -> Result:
    """Pathway, in an environment of its own; it must find every pair."""
    script = Path(__file__).with_name("pathways.py")
    numbers = (START, setting.warm, WITHIN)
    done = subprocess.run(
        ["uv", "run", "--script", str(script), setting.servers, setting.topic, *map(str, numbers)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PATHWAY_THREADS": CORES},
    )
    message = json.loads(done.stdout.splitlines()[-1])
    pairs = answers(CardEvents.of(setting.topic)).pairs
    if message["answers"] != pairs:
        raise SystemExit(f"Pathway found {message['answers']:,} pairs, and there are {pairs:,}")
    return Result(engine, **message)


def _rules(count: int) -> tuple[str, Callable[[Given], Result]]:
    name = f"rules-{count}"
    return f"Headrace, {count} rules", lambda setting: headrace(setting, session(setting), name, rules=count)


ENGINES: dict[str, tuple[str, Callable[[Given], Result]]] = {
    "headrace": ("Headrace, pattern", lambda setting: headrace(setting, session(setting))),
    "flink-match": (
        "Flink SQL, MATCH_RECOGNIZE",
        lambda setting: flink(setting, "flink-match", flinks.MATCH_RECOGNIZE),
    ),
    "flink-join": (
        "Flink SQL, interval join",
        lambda setting: flink(setting, "flink-join", flinks.INTERVAL_JOIN),
    ),
    "pathway": ("Pathway, interval join", pathway),
    "python-rows": (
        "Python transformWithState, rows",
        lambda setting: in_python(setting, session(setting), by_hand.over_rows, "python-rows"),
    ),
    "python-pandas": (
        "Python transformWithStateInPandas",
        lambda setting: in_python(setting, session(setting), by_hand.over_frames, "python-pandas"),
    ),
    **{f"rules-{count}": _rules(count) for count in RULES},
}
