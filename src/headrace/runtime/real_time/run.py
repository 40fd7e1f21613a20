"""Runs in Spark's real-time mode: rows pass from Kafka through the steps to Kafka within milliseconds.

Tasks run for a *batch* of about a minute and pass on each row immediately; offsets and state are committed
and the watermark advances when the batch ends. Without `foreachBatch` there is no two-phase commit: Spark's
Kafka sink writes at least once, and a restart writes the rows of the unfinished batch again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.layout import CHECKPOINT_ID, checkpoint_of, renew_checkpoint_id
from headrace.checkpoints.signatures import read_signature, signature_problem, write_signature
from headrace.checkpoints.sources import check_sources
from headrace.connectors.base import Guarantee, WriteContext
from headrace.connectors.kafka.sink import KafkaWriter
from headrace.errors import PlanError, Problem
from headrace.lowering.lowering import Lowering
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import PARTITION, Heartbeats
from headrace.plan.queries import Query, queries_of
from headrace.plan.realtime import real_time_of
from headrace.runtime.handle import RunHandle
from headrace.runtime.progress.log import ProgressLog
from headrace.runtime.progress.status import Status
from headrace.runtime.queries.signatures import sign_state
from headrace.runtime.real_time.records import build_records, kafka_of, producer_options
from headrace.runtime.real_time.settings import tune_sources
from headrace.runtime.threads import start_thread
from headrace.spark.versions import REAL_TIME, REAL_TIME_STATE
from headrace.steps.endpoints.sink import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.checkpoints.directory import PipelineDirectory
    from headrace.plan.graph import Graph
    from headrace.runtime.options import RunOptions

BATCH = 60_000_000
"""Default length of a batch, in microseconds."""
REPORT_DELAY = 1.0
"""Seconds to wait after the end of a batch before its report is read, so that reading does not delay rows."""


def check_plan(graph: Graph, guarantee: Guarantee | None = None) -> None:
    """Reject a plan that cannot run in real-time mode, or not with the installed Spark.

    Raises:
        PlanError: lists each step and reason.
    """
    queries = tuple(queries_of(graph))
    problems = [
        Problem(graph.where(node), f"cannot run in real-time mode: {reason}", "run it without --real-time")
        for node in graph
        for reason in real_time_of(graph, node, queries, python=node.tier(graph).python).blocked
    ]
    if problem := REAL_TIME.problem(f"pipeline `{graph.name}`"):
        problems.append(problem)
    else:
        stateful = (graph.where(node) for node in graph if node.stateful)
        problems += filter(None, map(REAL_TIME_STATE.problem, stateful))
    if guarantee == "exactly_once":
        what = "exactly_once is required, but real-time mode writes to Kafka at least once"
        problems.append(Problem("guarantee", what, "require at_least_once, or leave out --real-time"))
    if problems:
        raise PlanError(problems)


class RealTimeRun(RunHandle):
    """A run in real-time mode."""

    def __init__(
        self, spark: SparkSession, graph: Graph, directory: PipelineDirectory, options: RunOptions
    ) -> None:
        super().__init__(spark, tune_sources(graph), directory)
        self._stopping = False
        self._queries = queries_of(self.graph)
        check_sources(self.graph, directory.path, real_time=True)
        self._heartbeats = RowWatermarks(spark, str(directory.path.resolve()))
        self._inputs = {query.name: self._build_inputs(query) for query in self._queries}
        self._progress = ProgressLog(self._queries, self._acknowledge)
        self._running: list[Any] = []
        self._progress.listen(spark, on_failure=self._abort, delay=REPORT_DELAY)
        try:
            for sink in graph.sinks:
                KafkaWriter(kafka_of(sink)).prepare(WriteContext(graph.name, sink.name, "", "append", ""))
            for query in self._queries:
                self._launch(query, options.period or BATCH)
        except BaseException:
            self._end()
            raise
        start_thread(graph.name, self._follow, on_failure=self._fail)

    @property
    def queries(self) -> list[Query]:
        return self._queries

    def status(self) -> Status:
        """Return the progress of the last completed batch, whose duration is not the latency of a row."""
        status = self._progress.status({}, active=not self._ended.is_set(), phase="reading")
        return replace(status, counted=False, latency_ms=None)

    def stop(self) -> None:
        before = [(query, _last_batch(query)) for query in self._running]
        while any(_last_batch(query) == last for query, last in before) and not self._ended.wait(0.05):
            pass
        self.kill()

    def kill(self) -> None:
        self._stop_queries()
        self._ended.wait()

    def _build_inputs(self, query: Query) -> StreamInputs:
        return StreamInputs(
            self.spark,
            self.graph.name,
            self.directory.path,
            self._heartbeats,
            primary_reader_of=query.sources,
            real_time=True,
        )

    def _launch(self, query: Query, batch: int) -> None:
        lowering = Lowering(self.spark, self.graph, self._inputs[query.name])
        sinks = [node for name in query.sinks if isinstance(node := self.graph[name], Sink)]
        step = self.graph[query.output.step]
        frame = build_records(lowering, step, sinks)
        checkpoint = checkpoint_of(self.directory.path, query)
        signature = sign_state(self.graph, step, lowering)
        if problem := signature_problem(self.graph.where(step), read_signature(checkpoint), signature):
            raise PlanError([problem])
        write_signature(checkpoint, signature)
        if not (checkpoint / CHECKPOINT_ID).exists():  # no sink uses it; every checkpoint has one
            renew_checkpoint_id(checkpoint)
        writer = frame.writeStream.format("kafka").outputMode("update").options(**producer_options(sinks))
        writer = writer.queryName(f"{self.graph.name}.{query.name}")
        writer = writer.option("checkpointLocation", str(checkpoint / "spark"))
        started = writer.trigger(realTime=f"{batch // 1000} milliseconds").start()  # type: ignore[call-overload]
        self._running.append(started)
        self._progress.follow(started, query.name)

    def _acknowledge(self, query: str, report: Mapping[str, Any]) -> None:
        with contextlib.suppress(Exception):  # committed offsets of the consumer group are informational
            self._inputs[query].acknowledge(report.get("sources", ()))

    def _follow(self) -> None:
        try:
            for query in self._running:
                query.awaitTermination()
        except BaseException as error:
            if not self._stopping:
                self._fail(error)
        finally:
            self._end()

    def _abort(self, error: BaseException) -> None:
        """Fail the run with the error of a background thread."""
        self._fail(error)
        self._stop_queries()

    def _stop_queries(self) -> None:
        self._stopping = True
        for query in self._running:
            query.stop()

    def _end(self) -> None:
        for query in self._running:
            with contextlib.suppress(Exception):  # the first failure has been recorded
                query.stop()
        self._progress.settle()
        for inputs in self._inputs.values():
            inputs.close()
        self._progress.close()
        self._release("stopped")
        self._ended.set()


class RowWatermarks(Heartbeats):
    """Watermarks that only rows advance: real-time mode rejects heartbeat sources."""

    def track(self, frame: DataFrame, time: str, name: str, *, delay: int, **_: Any) -> DataFrame:
        """Set Spark's watermark on the column `time`."""
        return frame.drop(PARTITION).withWatermark(time, f"{delay} microseconds")


def _last_batch(query: Any) -> int:
    """Return the last completed batch of a query; -1 before the first."""
    report = query.lastProgress
    return -1 if report is None else int(report["batchId"])
