"""Runs in micro-batches."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.checkpoints.directory import PipelineDirectory
from headrace.errors import HeadraceError
from headrace.lowering.code.failures import as_user_code_error
from headrace.lowering.code.totals import call_totals
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import END_OF_TIME_MS, Heartbeats
from headrace.plan.guarantees import require
from headrace.plan.queries import Query
from headrace.runtime.delivery import Stopped
from headrace.runtime.exchanges.cleanup import ExchangeCleaner
from headrace.runtime.failures import translate_error
from headrace.runtime.handle import RunHandle
from headrace.runtime.idleness import IdlenessTicker, clock_warnings
from headrace.runtime.progress.delays import Delays
from headrace.runtime.progress.log import ProgressLog
from headrace.runtime.progress.status import RulesStatus, Status
from headrace.runtime.queries import PlannedQuery, QueryPlanner, exchange_readers
from headrace.runtime.samples import ROWS, SECONDS, Samples, find_edge
from headrace.runtime.threads import start_thread
from headrace.runtime.unrouted import with_unrouted_sinks
from headrace.runtime.virtual_time import Clock, SteppedQuery
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph
    from headrace.runtime.options import RunOptions

CLOCK_PERIOD = 500_000
"""Default interval, in microseconds, between micro-batches of a step with processing-time timers."""
DRAINING = "draining"
DRAIN_STEPS, DRAIN_STEP_MS = 8, 366 * 86_400_000
"""Number and length of the clock steps with which a drain closes windows with processing-time triggers; a
step is longer than the period of a trigger.
"""


def start(graph: Graph, options: RunOptions, on_phase: Callable[[str], None]) -> MicroBatchRun:
    """Lock the checkpoint directory, open a session and start the queries of a plan."""
    require(graph, options.guarantee)
    directory = PipelineDirectory.acquire(graph.name, options.checkpoint, fresh=options.fresh)
    try:
        on_phase("starting Java")
        spark = open_session(
            graph.name,
            master=options.master,
            conf=options.conf,
            jars=jars_for(graph.connectors),
            log_directory=directory.path / "logs",
        )
        on_phase("planning")
        return MicroBatchRun(spark, with_unrouted_sinks(graph, directory.path), directory, options)
    except BaseException:
        directory.release()
        raise


class MicroBatchRun(RunHandle):
    """A run in micro-batches."""

    def __init__(
        self, spark: SparkSession, graph: Graph, directory: PipelineDirectory, options: RunOptions
    ) -> None:
        super().__init__(spark, graph, directory)
        self._options = options
        self._calls = call_totals(graph)
        self._delays = Delays()
        self._samples = Samples(spark)
        self._phase = "opening sinks"
        self._stepped: dict[str, tuple[Clock, SteppedQuery]] = {}
        """Queries with processing-time timers, kept open for the drain."""
        self._heartbeats = Heartbeats(spark, str(directory.path.resolve()))
        self._warnings: tuple[str, ...] = ()
        self._planned = self._plan()
        self._cleaner = ExchangeCleaner(exchange_readers(directory.path, self._planned))
        self._progress = ProgressLog(self.queries, self._acknowledge)
        self._progress.listen(spark, on_failure=self._abort)
        self._idleness = IdlenessTicker(graph, self._heartbeats, on_failure=self._abort)
        self._thread = start_thread(graph.name, self._execute, on_failure=self._fail)

    @property
    def queries(self) -> list[Query]:
        return [planned.query for planned in self._planned]

    def status(self) -> Status:
        deliveries = [planned.delivery for planned in self._planned]
        logs = [delivery.accounting for delivery in deliveries if delivery.accounting is not None]
        logs += [log for delivery in deliveries for log in delivery.lookup_logs.values()]
        books = [delivery.rules for delivery in deliveries if delivery.rules is not None]
        status = self._progress.status(
            {sink.name: sink.rows for delivery in deliveries for sink in delivery.sinks},
            {log.step: log.current() for log in logs},
            {book.name: RulesStatus(book.in_force, tuple(map(str, book.faults))) for book in books},
            dead_letters=sum(delivery.dead_letter_count for delivery in deliveries),
            active=not self._ended.is_set(),
            phase=self._phase,
        )
        return replace(
            status,
            calls={step: totals.values() for step, totals in self._calls.items()},
            ledgers={
                sink.name: sink.ledger_epoch
                for delivery in deliveries
                for sink in delivery.sinks
                if sink.ledger_epoch is not None
            },
            slowest_partition=self._heartbeats.slowest_partition(),
            warnings=self._collect_warnings(),
            delays=self._collect_delays(),
            mismatches=tuple(each for delivery in deliveries for each in delivery.mismatches),
            mismatch_count=sum(delivery.mismatches.count for delivery in deliveries),
        )

    def _collect_delays(self) -> Delays:
        """Return the delays of the run; the kernel drops them when the run ends."""
        if not self._ended.is_set():
            self._delays = Delays.of(self._heartbeats.delays()) or self._delays
        return self._delays

    def _collect_warnings(self) -> tuple[str, ...]:
        self._warnings = tuple(dict.fromkeys([*self._warnings, *clock_warnings(self._heartbeats)]))
        return self._warnings

    def sample(self, name: str, *, rows: int = ROWS, timeout: float = SECONDS) -> list[dict[str, Any]]:
        return self._samples.take(find_edge(self.graph, name), rows, timeout)

    def stop(self) -> None:
        self._stopping = True
        for planned in self._planned:
            planned.delivery.stopping = True
        for planned in self._planned:
            _stop_between_batches(planned)
        self._ended.wait()

    def kill(self) -> None:
        self._stop_queries()
        self._ended.wait()

    def _plan(self) -> list[PlannedQuery]:
        def build_inputs(query: Query) -> StreamInputs:
            directory = self.directory.path
            primary = query.primary_reader_of
            return StreamInputs(
                self.spark, self.graph.name, directory, self._heartbeats, primary_reader_of=primary
            )

        directory, samples = self.directory.path, self._samples
        planner = QueryPlanner(self.spark, self.graph, directory, build_inputs=build_inputs, samples=samples)
        planned = planner.plan()
        for each in planned:
            each.delivery.load_rules()
        return planned

    def _acknowledge(self, query: str, report: Mapping[str, Any]) -> None:
        """Report the offsets of a committed epoch to the source systems; failures are ignored."""
        inputs = next(planned.inputs for planned in self._planned if planned.query.name == query)
        with contextlib.suppress(Exception):
            inputs.acknowledge(report.get("sources", ()))
        self._cleaner.clean_if_due()

    def _execute(self) -> None:
        try:
            self._process()
        except BaseException as error:
            self._fail(error)
        finally:
            self._end()

    def _process(self) -> None:
        for planned in self._planned:
            planned.delivery.open()
        self._phase = "reading"
        if self._options.bounded:
            for wave in group_into_waves(self._planned):
                self._catch_up(wave)
        else:
            for planned in self._planned:
                if not self._stopping:
                    self._launch(planned)
            self._idleness.start()
            for planned in self._planned:
                self._await(planned)
        if self._options.until == "drained" and not self._stopping:
            self._drain()

    def _drain(self) -> None:
        """End the input and close all windows, in waves, because rows of one query are input of the next."""
        self._phase = DRAINING
        self._heartbeats.end()
        for wave in group_into_waves(self._planned):
            self._catch_up(wave)
        if not self._stopping:
            self.directory.mark_drained()

    def _catch_up(self, wave: list[PlannedQuery]) -> None:
        """Run the queries of a wave concurrently over the available input."""
        if self._stopping:
            return
        launched = [planned for planned in wave if not planned.uses_clock]
        for planned in launched:
            self._launch(planned)
        for planned in wave:
            if planned.uses_clock and not self._stopping:
                self._step_until_idle(planned)
        for planned in launched:
            self._await(planned)

    def _step_until_idle(self, planned: PlannedQuery) -> None:
        """Step a query with processing-time timers, for which availableNow never ends, until it reads no row.

        A drain steps the same query again: it reads the rows of earlier queries, then moves the clock to the
        end of time.
        """
        try:
            name = planned.query.name
            clock, query = self._stepped.pop(name) if name in self._stepped else self._start_stepped(planned)
            query.limit_sources()
            self._read_available(query)
            if self._phase == DRAINING:
                clock.advance((END_OF_TIME_MS - DRAIN_STEPS * DRAIN_STEP_MS - clock.millis) * 1000)
                self._read_available(query)
                self._close_windows(planned, clock, query)
            elif self._options.until == "drained":
                self._stepped[name] = clock, query
                return
            query.stop()
        except BaseException as error:
            self._raise_failure(planned, error)

    def _start_stepped(self, planned: PlannedQuery) -> tuple[Clock, SteppedQuery]:
        clock = Clock(self.spark)
        clock.advance(int(time.time() * 1000) * 1000)
        planned.spark_query = query = clock.start(
            planned.stream_plan,
            planned.delivery,
            mode=planned.output_mode,
            name=f"{self.graph.name}.{planned.query.name}",
            checkpoint=str(planned.checkpoint / "spark"),
        )
        self._progress.follow(query, planned.query.name)
        return clock, query

    def _read_available(self, query: SteppedQuery) -> None:
        query.step()
        while query.rows_read and not self._stopping:
            query.step()

    def _close_windows(self, planned: PlannedQuery, clock: Clock, query: SteppedQuery) -> None:
        """Advance the clock of a drain until no window is open.

        A processing-time trigger sets its next timer one period ahead of the clock, even in the batch in
        which the watermark reaches the end of time; the window closes when that timer fires.
        """
        for _ in range(DRAIN_STEPS):
            if self._stopping or not planned.holds_rows:
                return
            clock.advance(DRAIN_STEP_MS * 1000)
            query.step()

    def _launch(self, planned: PlannedQuery) -> None:
        writer = planned.stream_plan.writeStream.outputMode(planned.output_mode).foreachBatch(
            planned.delivery
        )
        writer = writer.queryName(f"{self.graph.name}.{planned.query.name}")
        writer = writer.option("checkpointLocation", str(planned.checkpoint / "spark"))
        planned.spark_query = writer.trigger(**self._trigger(planned)).start()
        self._progress.follow(planned.spark_query, planned.query.name)
        if self._stopping:  # stop() was called while the query was starting
            planned.spark_query.stop()

    def _trigger(self, planned: PlannedQuery) -> dict[str, Any]:
        """Return the arguments of `DataStreamWriter.trigger`.

        With processing-time timers Spark runs batches without pause, so such a query has a default interval.
        """
        if self._options.bounded:
            return {"availableNow": True}
        default = CLOCK_PERIOD if planned.uses_clock else 0
        period = self._options.period
        return {"processingTime": f"{default if period is None else period} microseconds"}

    def _await(self, planned: PlannedQuery) -> None:
        if planned.spark_query is None:
            return
        try:
            planned.spark_query.awaitTermination()
        except BaseException as error:
            self._raise_failure(planned, error)

    def _raise_failure(self, failed: PlannedQuery, error: BaseException) -> None:
        """Raise the failure of a query, unless it was stopped."""
        failure = failed.delivery.failure
        if isinstance(failure, Stopped) or (self._stopping and failure is None):
            return
        self._stop_queries(failed)
        # Rows are computed while a sink writes them, so an error of the sink may wrap one of user code.
        translated: HeadraceError | None = as_user_code_error(self.graph, failure or error)
        if translated is None and isinstance(failure, HeadraceError):
            translated = failure
        raise (translated or translate_error(self.graph, failure or error)) from error

    def _abort(self, error: BaseException) -> None:
        """Fail the run with the error of a background thread."""
        self._fail(error)
        self._stop_queries()

    def _stop_queries(self, failed: PlannedQuery | None = None) -> None:
        self._stopping = True
        for planned in self._planned:
            if planned is not failed and planned.spark_query is not None:
                planned.spark_query.stop()

    def _end(self) -> None:
        self._idleness.stop()
        for planned in self._planned:
            with contextlib.suppress(Exception):  # the first failure has been recorded
                if planned.spark_query is not None and planned.spark_query.isActive:
                    planned.spark_query.stop()
                planned.delivery.close()
        self._collect_warnings()
        with contextlib.suppress(Exception):  # the JVM may have exited
            self._collect_delays()
        self._heartbeats.close()
        self._progress.settle()
        with contextlib.suppress(OSError):  # the next run retries
            self._cleaner.clean()
        for planned in self._planned:
            planned.inputs.close()
        self._progress.close()
        self.directory.release()
        self._ended.set()


def group_into_waves(planned: list[PlannedQuery]) -> list[list[PlannedQuery]]:
    """Group queries in waves; the reader of an exchange is in a later wave than its writer."""
    waves: list[list[PlannedQuery]] = [[]]
    for each in planned:
        written = {ref for earlier in waves[-1] for ref in earlier.query.writes}
        if written.intersection(each.query.reads):
            waves.append([])
        waves[-1].append(each)
    return waves


def _stop_between_batches(planned: PlannedQuery) -> None:
    """Stop a query after its current micro-batch; the delivery raises `Stopped` if another one begins."""
    query = planned.spark_query
    if isinstance(query, SteppedQuery):  # `_read_available` ends after the current step
        return
    while query is not None and query.isActive:
        if not query.status["isTriggerActive"]:
            query.stop()
        else:
            with contextlib.suppress(Exception):  # `_await` reports the failure
                query.awaitTermination(0.05)
