"""A run of a pipeline: from a checked plan to queries that deliver, and a handle to follow and end them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from headrace.checkpoints.directory import PipelineDirectory
from headrace.connectors.base import Guarantee, Writer
from headrace.connectors.files import Files
from headrace.durations import Duration, microseconds
from headrace.errors import HeadraceError, OptionError, PlanError, Problem, SourceError
from headrace.lowering.decode import as_source_error
from headrace.lowering.python_aggregates import as_aggregate_error
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import END_OF_TIME_MS, Heartbeats
from headrace.plan.guarantees import require
from headrace.plan.queries import DEAD_LETTERS, Query
from headrace.runtime.delivery import Drained
from headrace.runtime.idleness import Pulse
from headrace.runtime.progress import ProgressLog, RulesStatus, Status
from headrace.runtime.queries import Assembled, Assembly
from headrace.runtime.virtual_time import Clock
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session
from headrace.steps.base import Ref
from headrace.steps.endpoints.sink import Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph

CLOCK_PERIOD = 500_000
"""How often, in microseconds, a step that lives by the clock is asked."""

KEPT = ("late", "timeouts", DEAD_LETTERS)
"""Outputs that are never dropped: what no sink takes of them is kept in files."""


def start(
    graph: Graph,
    *,
    once: bool = False,
    finish: bool = False,
    every: Duration | None = None,
    real_time: bool = False,
    checkpoint: str | Path | None = None,
    guarantee: Guarantee | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> Running:
    """Start a checked plan; `Pipeline.start` tells what the options mean."""
    if not graph.sinks:
        raise PlanError(
            [Problem(f"pipeline `{graph.name}`", "nothing is written", "end it with stream.write(...)")]
        )
    if real_time:
        from headrace.runtime import real_time as realtime

        if once or finish:
            raise OptionError(
                "a run in real time has no end, so it can't be once or finish",
                where="real_time",
                hint="leave real time out to take what is there",
            )
        options = {"checkpoint": checkpoint, "guarantee": guarantee, "master": master, "conf": conf}
        return realtime.start(graph, batch=every or realtime.BATCH, **options)  # type: ignore[arg-type]
    require(graph, guarantee)
    directory = PipelineDirectory.taken(graph.name, checkpoint)
    try:
        logs = directory.path / "logs"
        spark = open_session(
            graph.name, master=master, conf=conf, jars=jars_for(graph.connectors), log_directory=logs
        )
        return Running(spark, with_kept_outputs(graph, directory.path), directory, Pace(once, finish, every))
    except BaseException:
        directory.release()
        raise


class Pace:
    """When micro-batches run, and when the run ends."""

    def __init__(self, once: bool, finish: bool, every: Duration | None) -> None:
        self.ends = once or finish
        self.finishes = finish
        self.period = None if every is None else microseconds(every, where="every")

    def trigger(self, built: Assembled) -> dict[str, Any]:
        """As `DataStreamWriter.trigger` takes it.

        A step that lives by the clock always has another batch to run, so it gets a pace where the user gave none.
        """
        if self.ends:
            return {"availableNow": True}
        period = self.period if self.period is not None else CLOCK_PERIOD if built.by_clock else 0
        return {"processingTime": f"{period} microseconds"}


class Running:
    """A run. Use it as a context manager, or `stop()` it; `wait()` blocks until it has ended.

    >>> with pipeline.start(once=True) as running:  # doctest: +SKIP
    ...     running.wait()
    ...     running.status().rows_in
    1000
    """

    def __init__(self, spark: SparkSession, graph: Graph, directory: PipelineDirectory, pace: Pace) -> None:
        self.spark = spark
        self.graph = graph
        self.directory = directory
        self._pace = pace
        self._heartbeats = Heartbeats(spark, str(directory.path.resolve()))
        self._failure: HeadraceError | None = None
        self._ended = threading.Event()
        self._stopping = False
        self._assembled = self._assemble()
        self._progress = ProgressLog(self.queries, self._acknowledge)
        self._progress.listen(spark)
        self._pulse = Pulse(graph, self._heartbeats, self._progress)
        self._thread = threading.Thread(target=self._guarded, name=f"headrace {graph.name}", daemon=True)
        self._thread.start()

    @property
    def queries(self) -> list[Query]:
        """The queries of the plan, in order."""
        return [built.query for built in self._assembled]

    def status(self) -> Status:
        """How far the run is."""
        rows = {outlet.name: outlet.rows for built in self._assembled for outlet in built.delivery.outlets}
        logs = [built.delivery.balance for built in self._assembled if built.delivery.balance is not None]
        steps = {log.step: log.balance() for log in logs}
        books = [built.delivery.rules for built in self._assembled if built.delivery.rules is not None]
        rules = {book.name: RulesStatus(book.in_force, tuple(map(str, book.faults))) for book in books}
        dead_letters = sum(built.delivery.dead_letter_count for built in self._assembled)
        return self._progress.status(
            rows, steps, rules, dead_letters=dead_letters, active=not self._ended.is_set()
        )

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the run has ended; False if `timeout` seconds went by first.

        Raises:
            HeadraceError: the run failed.
        """
        if not self._ended.wait(timeout):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def drain(self) -> None:
        """End the run after the epochs that are under way; the next run goes on from there."""
        self._stopping = True
        for built in self._assembled:
            built.delivery.draining = True
        for built in self._assembled:
            _stop_between_batches(built)
        self._ended.wait()

    def stop(self) -> None:
        """End the run now; an epoch that is under way is done again by the next run."""
        self._stopping = True
        for built in self._assembled:
            if built.running is not None:
                built.running.stop()
        self._ended.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended.is_set():
            self.stop()

    def _assemble(self) -> list[Assembled]:
        def inputs_of(query: Query) -> StreamInputs:
            return StreamInputs(
                self.spark,
                self.graph.name,
                self.directory.path,
                self._heartbeats,
                speaks_for=query.speaks_for,
            )

        def writer_of(sink: Sink) -> Writer:
            return sink.connector.writer()

        assembly = Assembly(
            self.spark, self.graph, self.directory.path, inputs_of=inputs_of, writer_of=writer_of
        )
        assembled = assembly.assembled()
        for built in assembled:
            built.delivery.begin()
        return assembled

    def _acknowledge(self, query: str, report: Mapping[str, Any]) -> None:
        """An epoch is done: let the sources tell their servers. Nothing depends on it, so it can't fail the run."""
        inputs = next(built.inputs for built in self._assembled if built.query.name == query)
        with contextlib.suppress(Exception):
            inputs.acknowledge(report.get("sources", ()))

    def _guarded(self) -> None:
        """Run in a thread of its own, so that the caller can follow and end it."""
        try:
            self._run()
        except HeadraceError as error:
            self._failure = error
        except BaseException as error:
            self._failure = told(self.graph, error)
        finally:
            self._end()

    def _run(self) -> None:
        for built in self._assembled:
            built.delivery.open()
        if self._pace.ends:
            for wave in _waves(self._assembled):
                self._through(wave)
        else:
            for built in self._assembled:
                if not self._stopping:
                    self._launch(built)
            self._pulse.start()
            for built in self._assembled:
                self._await(built)
        if self._pace.finishes and not self._stopping:
            self._finish()

    def _finish(self) -> None:
        """End the input for good, query by query: what one still gives is input of the next."""
        self._heartbeats.end()
        for wave in _waves(self._assembled):
            self._through(wave, at_ms=END_OF_TIME_MS)
        if not self._stopping:
            self.directory.seal()

    def _through(self, wave: list[Assembled], at_ms: int | None = None) -> None:
        """Run queries side by side over what is there now; those that live by the clock, at that time."""
        if self._stopping:
            return
        launched = [built for built in wave if not built.by_clock]
        for built in launched:
            self._launch(built)
        for built in wave:
            if built.by_clock and not self._stopping:
                self._step_through(built, at_ms if at_ms is not None else int(time.time() * 1000))
        for built in launched:
            self._await(built)

    def _step_through(self, built: Assembled, at_ms: int) -> None:
        """Step a query that would never end by itself, until a batch has had no input."""
        clock = Clock(self.spark)
        clock.advance(at_ms * 1000)
        try:
            built.inputs.available()
            built.running = query = clock.start(
                built.trunk,
                built.delivery,
                mode=built.output_mode,
                name=f"{self.graph.name}.{built.query.name}",
                checkpoint=str(built.checkpoint / "spark"),
            )
            self._progress.follow(query, built.query.name)
            query.step()
            while query.rows_read and not self._stopping:
                query.step()
            query.stop()
        except BaseException as error:
            self._fail(built, error)

    def _launch(self, built: Assembled) -> None:
        writer = built.trunk.writeStream.outputMode(built.output_mode).foreachBatch(built.delivery)
        writer = writer.queryName(f"{self.graph.name}.{built.query.name}")
        writer = writer.option("checkpointLocation", str(built.checkpoint / "spark"))
        built.running = writer.trigger(**self._pace.trigger(built)).start()
        self._progress.follow(built.running, built.query.name)
        if self._stopping:  # asked while the query was starting, when there was nothing to stop yet
            built.running.stop()

    def _await(self, built: Assembled) -> None:
        if built.running is None:
            return
        try:
            built.running.awaitTermination()
        except BaseException as error:
            self._fail(built, error)

    def _fail(self, failed: Assembled, error: BaseException) -> None:
        """Raise what a query died of, unless it was asked to end."""
        failure = failed.delivery.failure
        if isinstance(failure, Drained) or (self._stopping and failure is None):
            return
        self._stopping = True
        for built in self._assembled:
            if built is not failed and built.running is not None:
                built.running.stop()
        raise (
            failure if isinstance(failure, HeadraceError) else told(self.graph, failure or error)
        ) from error

    def _end(self) -> None:
        self._pulse.stop()
        for built in self._assembled:
            with contextlib.suppress(Exception):  # the failure that counts is already known
                if built.running is not None and built.running.isActive:
                    built.running.stop()
                built.delivery.close()
        self._heartbeats.forget()
        self._progress.settle()
        for built in self._assembled:
            built.inputs.close()
        self._progress.close()
        self.directory.release()
        self._ended.set()


def with_kept_outputs(graph: Graph, directory: Path) -> Graph:
    """The plan with a file sink for each `late`, `timeouts` and `dead_letters` that no step reads."""
    needed = {node.name for sink in graph.sinks for node in graph.upstream(sink)}
    unread = [
        Ref(node.name, output)
        for node in graph
        if node.name in needed
        for output in node.outputs
        if output in KEPT and not graph.consumers[Ref(node.name, output)]
    ]
    sinks = (
        Sink(
            f"{ref.step}:kept_{ref.output}",
            ref,
            Files(path=str(directory / "kept" / str(ref)), format="json"),
        )
        for ref in unread
    )
    return graph.plus(*sinks)


def _waves(assembled: list[Assembled]) -> list[list[Assembled]]:
    """The queries in groups: one that reads another's log comes in a later group, when the log is complete."""
    waves: list[list[Assembled]] = [[]]
    for built in assembled:
        given = {ref for earlier in waves[-1] for ref in earlier.query.hands_over}
        if given.intersection(built.query.reads):
            waves.append([])
        waves[-1].append(built)
    return waves


def _stop_between_batches(built: Assembled) -> None:
    """Wait for the batch under way; the next one ends the query by itself, if there is one before we see the gap."""
    while built.running is not None and built.running.isActive:
        if not built.running.status["isTriggerActive"]:
            built.running.stop()
        else:
            with contextlib.suppress(Exception):  # the thread that follows the query tells what ended it
                built.running.awaitTermination(0.05)


def told(graph: Graph, error: BaseException) -> HeadraceError:
    """An error of Spark's as one of ours: what the user can act on, without a stack trace."""
    problems = (connector.explain_failure(str(error)) for connector in graph.connectors)
    if problem := next(filter(None, problems), None):
        return SourceError(problem.what, where=problem.where, hint=problem.hint)
    known = as_source_error(error) or as_aggregate_error(error)
    if known is not None:
        return known
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return SourceError(lines[0] if lines else type(error).__name__, hint="Spark's log has the rest")
