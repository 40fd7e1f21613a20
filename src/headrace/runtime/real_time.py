"""Runs in Spark's real-time mode: rows go from Kafka through the steps to Kafka as they come, in milliseconds.

Tasks run for a whole *batch*, a minute or so, and hand rows on one by one; at its end offsets and state are committed and
the watermark moves. There is no `foreachBatch`, so none of the delivery: Spark's own Kafka sink writes, at least once. What
a restart finds unfinished, at most one batch, is written again.

The outputs of a step with state leave it as tagged rows; each becomes a record for the topic of its own sink.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.layout import checkpoint_of
from headrace.checkpoints.signatures import changed, keep, kept
from headrace.checkpoints.sources import refuse_moved
from headrace.connectors.base import WriteContext
from headrace.connectors.kafka import Kafka, properties, records
from headrace.connectors.kafka.sink import KafkaWriter
from headrace.durations import Duration, microseconds
from headrace.errors import HeadraceError, OptionError, PlanError, Problem
from headrace.explain.explanation import explain
from headrace.lowering.expressions import HIDDEN, OUTPUT
from headrace.lowering.lowering import Lowering, hidden_key
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import Heartbeats
from headrace.plan.graph import Graph
from headrace.plan.queries import Query, queries_of
from headrace.runtime.progress import ProgressLog, Status
from headrace.runtime.queries import declared
from headrace.runtime.run import Running, told
from headrace.spark.gateway import java_session, kernel
from headrace.spark.jars import jars_for
from headrace.spark.launch import REGIONS, active_session
from headrace.spark.session import open_session
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import EventTime
from headrace.steps.stateful.window import WindowAggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.base import Guarantee
    from headrace.steps.rows.event_time import ClockTime

BATCH = "1 minute"
"""How long a batch is if nobody says otherwise."""

SHORTEST = 5_000_000
"""Spark's own floor for a batch, in microseconds."""

SETTINGS = {
    "spark.shuffle.manager": "org.apache.spark.shuffle.streaming.MultiShuffleManager",
    # How long a row may wait for company on its way to the next task: Spark's 100 ms is what one feels.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
}
QUICK = {
    # At the start of each batch Spark would describe the plan at length, twice, for pages that nobody sees,
    "spark.sql.ui.explainMode": "simple",
    # and check it after each rule that it applies.
    "spark.sql.lightweightPlanChangeValidation": "false",
}
JAVA = "spark.driver.extraJavaOptions"
JAVA_READS = "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"
"""Variables of the environment from which a JVM takes options too."""
MEMORY = "spark.driver.memory"
COLLECTING = f"-XX:+UseG1GC -Xmn128m {REGIONS} -XX:MetaspaceSize=256m"
"""A small nursery is cleaned often and quickly; one that grows with the heap, rarely and for long."""
SHORT_BATCHES = 30, 250
"""With how many short batches a run begins, and how many milliseconds each reads: what happens at the end of a batch is then
warm when the first long one ends."""
REPORTED = 1.0
"""How many seconds after a batch's end its report is read, which costs some: by then rows no longer wait."""
SLOTS = "local[16]"
"""Every task of a real-time query runs all the time, so each needs a slot, whatever the number of cores."""


def start(
    graph: Graph,
    *,
    batch: Duration,
    checkpoint: str | Path | None = None,
    guarantee: Guarantee | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> RealTimeRunning:
    """Start a checked plan in real time; `Pipeline.start` tells what the options mean.

    Raises:
        PlanError: with every step that real-time mode can't take, and why.
    """
    refuse(graph, guarantee)
    length = microseconds(batch, where="real_time")
    if length < SHORTEST:
        raise OptionError(
            f"expected batches of 5 seconds or more, got {batch}",
            where="real_time",
            hint="rows don't wait for a batch's end; offsets, state and the watermark do: try 1 minute",
        )
    directory = PipelineDirectory.taken(graph.name, checkpoint)
    try:
        spark = open_session(
            graph.name,
            master=master or (None if active_session() else SLOTS),
            conf=_settings(graph, conf or {}),
            jars=jars_for(graph.connectors),
            log_directory=directory.path / "logs",
        )
        return RealTimeRunning(spark, _for_latency(graph), directory, length)
    except BaseException:
        directory.release()
        raise


def refuse(graph: Graph, guarantee: Guarantee | None = None) -> None:
    """Refuse a plan that real-time mode can't take.

    Raises:
        PlanError: with each step and each reason.
    """
    explained = explain(graph)
    problems = [
        Problem(
            graph.where(graph[step.name]),
            f"real-time mode can't take it: {reason}",
            "run it without --real-time",
        )
        for step in explained.steps.values()
        for reason in step.real_time.blocked
    ]
    if guarantee == "exactly_once":
        what = "exactly_once was asked for, and in real time Kafka is written at least once"
        problems.append(Problem("guarantee", what, "ask for at_least_once, or leave --real-time out"))
    if problems:
        raise PlanError(problems)


class RealTimeRunning(Running):
    """A run in real time, followed and ended as any other; it shares nothing with the others but that."""

    def __init__(self, spark: SparkSession, graph: Graph, directory: PipelineDirectory, batch: int) -> None:
        self.spark = spark
        self.graph = graph
        self.directory = directory
        self._queries = queries_of(graph)
        refuse_moved(graph, directory.path, real_time=True)
        self._failure: HeadraceError | None = None
        self._ended = threading.Event()
        self._stopping = False
        self._heartbeats = _None(spark, str(directory.path.resolve()))
        self._inputs = {query.name: self._inputs_of(query) for query in self._queries}
        self._progress = ProgressLog(self._queries, self._heard)
        self._running: list[Any] = []
        _begin_short(spark)
        self._progress.listen(spark, REPORTED)
        try:
            for sink in graph.sinks:
                KafkaWriter(_kafka(sink)).prepare(WriteContext(graph.name, sink.name, "", "append", ""))
            for query in self._queries:
                self._begin(query, batch)
        except BaseException:
            self._end()
            raise
        threading.Thread(target=self._follow, name=f"headrace {graph.name}", daemon=True).start()

    @property
    def queries(self) -> list[Query]:
        """The queries of the plan, in order."""
        return self._queries

    def status(self) -> Status:
        """How far the run is: as of the last batch that ended. How long that took says nothing of how long a row takes."""
        known = self._progress.status({}, active=not self._ended.is_set())
        return replace(known, counted=False, latency_ms=None)

    def drain(self) -> None:
        """End the run when the batch under way has ended, so that the next run has little to write again."""
        before = [(query, _last_batch(query)) for query in self._running]
        while any(_last_batch(query) == last for query, last in before) and not self._ended.wait(0.05):
            pass
        self.stop()

    def stop(self) -> None:
        """End the run now; the next run writes what this batch has written again."""
        self._stopping = True
        for query in self._running:
            query.stop()
        self._ended.wait()

    def _inputs_of(self, query: Query) -> StreamInputs:
        return StreamInputs(
            self.spark,
            self.graph.name,
            self.directory.path,
            self._heartbeats,
            speaks_for=query.sources,
            real_time=True,
        )

    def _begin(self, query: Query, batch: int) -> None:
        lowering = Lowering(self.spark, self.graph, self._inputs[query.name])
        sinks = [node for name in query.sinks if isinstance(node := self.graph[name], Sink)]
        tip = self.graph[query.tip.step]
        frame = self._records(lowering, tip, sinks)
        checkpoint = checkpoint_of(self.directory.path, query)
        record = declared(self.graph, tip, lowering)
        if problem := changed(self.graph.where(tip), kept(checkpoint), record):
            raise PlanError([problem])
        keep(checkpoint, record)
        writer = frame.writeStream.format("kafka").outputMode("update").options(**_writing(sinks))
        writer = writer.queryName(f"{self.graph.name}.{query.name}")
        writer = writer.option("checkpointLocation", str(checkpoint / "spark"))
        started = writer.trigger(realTime=f"{batch // 1000} milliseconds").start()  # type: ignore[call-overload]
        self._running.append(started)
        self._progress.follow(started, query.name)

    @staticmethod
    def _records(lowering: Lowering, tip: Any, sinks: list[Sink]) -> DataFrame:
        if not tip.stateful:
            return _plain(lowering.frame(sinks[0].input), sinks)
        raw = lowering.raw(tip.name)
        return _tagged(raw, tip, sinks) if OUTPUT in raw.columns else _plain(raw, sinks)

    def _heard(self, query: str, report: Mapping[str, Any]) -> None:
        with contextlib.suppress(Exception):  # nothing depends on a group's offsets
            self._inputs[query].acknowledge(report.get("sources", ()))

    def _follow(self) -> None:
        try:
            for query in self._running:
                query.awaitTermination()
        except BaseException as error:
            if not self._stopping:
                self._failure = told(self.graph, error)
        finally:
            self._end()

    def _end(self) -> None:
        for query in self._running:
            with contextlib.suppress(Exception):  # the failure that counts is already known
                query.stop()
        self._progress.settle()
        for inputs in self._inputs.values():
            inputs.close()
        self._progress.close()
        self.directory.release()
        self._ended.set()


class _None(Heartbeats):
    """No heartbeats: real-time mode reads Kafka only, so rows alone move the watermark."""

    def _with_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, marked: str, wakes: bool
    ) -> DataFrame:
        delay = node.out_of_order if isinstance(node, EventTime) else 0
        return frame.withWatermark(marked, f"{delay} microseconds")


def _settings(graph: Graph, conf: Mapping[str, str]) -> dict[str, str]:
    """What the session needs, and what the user says: without a step that has state no row passes from task to task."""
    stateful = any(node.stateful for node in graph)
    ours = SETTINGS | {"spark.sql.shuffle.partitions": "2"} if stateful else {}
    if active_session():
        return ours | dict(conf)
    return QUICK | ours | dict(conf) | _collecting(conf)


def _collecting(conf: Mapping[str, str]) -> dict[str, str]:
    """How the JVM's memory is kept clean, unless the user's own options say so: with two collectors none starts."""
    said = conf.get(JAVA, "")
    if any("GC" in options for options in (said, *(os.environ.get(name, "") for name in JAVA_READS))):
        return {JAVA: said} if said else {}
    memory = conf.get(MEMORY, "1g")
    return {MEMORY: memory, JAVA: f"-Xms{memory} {COLLECTING} {said}".strip()}


def _last_batch(query: Any) -> int:
    """The last batch of a query that has ended; -1 before the first."""
    report = query.lastProgress
    return -1 if report is None else int(report["batchId"])


def _begin_short(spark: SparkSession) -> None:
    kernel(spark).compat.ShortBatches.begin(java_session(spark), *SHORT_BATCHES)


def _for_latency(graph: Graph) -> Graph:
    """The plan with small fetches, and without limits that only micro-batches have."""
    nodes = dict(graph.nodes)
    for node in graph.of(Source):
        if isinstance(node.connector, Kafka):
            quick = {"fetch": "latency", "max_per_batch": None, "min_tasks": None}
            nodes[node.name] = replace(node, connector=node.connector.model_copy(update=quick))
    return Graph(graph.name, nodes, graph.places)


def _plain(frame: DataFrame, sinks: list[Sink]) -> DataFrame:
    """The records of rows without tags: they have one sink."""
    [sink] = sinks
    fields = {
        n: f for n, f in records.fields_of(frame.schema.jsonValue()).items() if not n.startswith(HIDDEN)
    }
    return frame.selectExpr(*_aliased(records.expressions(_kafka(sink), fields, where=sink.name)))


def _tagged(raw: DataFrame, tip: Any, sinks: list[Sink]) -> DataFrame:
    """The records of all outputs of a step, in one pass: by its tag each row is made a record of its sink."""
    made = {sink.input.output or "main": _nested(raw, tip, sink) for sink in sinks}
    cases = [
        " ".join(f"when '{tag}' then {parts[place]}" for tag, parts in made.items())
        for place in range(len(records.COLUMNS))
    ]
    known = ", ".join(f"'{tag}'" for tag in made)
    return raw.where(f"{OUTPUT} in ({known})").selectExpr(
        *_aliased([f"case {OUTPUT} {case} end" for case in cases])
    )


def _nested(raw: DataFrame, tip: Any, sink: Sink) -> list[str]:
    word = f"{HIDDEN}{sink.input.output or 'main'}"
    held = next(field["type"] for field in raw.schema.jsonValue()["fields"] if field["name"] == word)
    keys = tip.keys if isinstance(tip, WindowAggregate | Match | MatchRules) else ()
    renamed = {hidden_key(name): name for name, _ in keys}
    found = {renamed.get(name, name): field for name, field in records.fields_of(held, within=word).items()}
    fields = {name: field for name, field in found.items() if not name.startswith(HIDDEN)}
    return records.expressions(_kafka(sink), fields, where=sink.name)


def _aliased(expressions: list[str]) -> list[str]:
    return [f"{text} as {name}" for text, name in zip(expressions, records.COLUMNS, strict=True)]


def _writing(sinks: list[Sink]) -> dict[str, str]:
    """What Spark's Kafka sink is told: no lingering, so that a record leaves as soon as it comes."""
    clients = {str(properties.client(_kafka(sink))): properties.client(_kafka(sink)) for sink in sinks}
    if len(clients) > 1:
        names = ", ".join(sink.name for sink in sinks)
        raise PlanError(
            [
                Problem(
                    names,
                    "in real time all outputs of a step go to one Kafka",
                    "give them the same servers and login",
                )
            ]
        )
    settings = next(iter(clients.values())) | {"linger.ms": "0", "acks": "all", "enable.idempotence": "true"}
    return {f"kafka.{name}": value for name, value in settings.items()} | {"includeHeaders": "true"}


def _kafka(sink: Sink) -> Kafka:
    assert isinstance(sink.connector, Kafka)  # `refuse` has seen to it
    return sink.connector
