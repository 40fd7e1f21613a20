"""Runs in micro-batches."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.lowering.code.totals import call_totals
from headrace.lowering.watermarks import Heartbeats
from headrace.plan.queries import Query
from headrace.runtime.exchanges.cleanup import ExchangeCleaner
from headrace.runtime.handle import RunHandle
from headrace.runtime.micro_batch.bounded import BoundedExecution
from headrace.runtime.micro_batch.idleness import IdlenessTicker
from headrace.runtime.micro_batch.queries import RunQueries
from headrace.runtime.micro_batch.status import RunStatus
from headrace.runtime.progress.log import ProgressLog
from headrace.runtime.progress.status import Status
from headrace.runtime.queries.planner import PlannedQuery, QueryPlanner, exchange_readers
from headrace.runtime.samples import ROWS, SECONDS, Samples, find_edge, read_row
from headrace.runtime.threads import start_thread
from headrace.runtime.unrouted import with_unrouted_sinks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.checkpoints.directory import PipelineDirectory
    from headrace.plan.graph import Graph
    from headrace.runtime.options import RunOptions


class MicroBatchRun(RunHandle):
    """A run in micro-batches; its queries are planned at once and run in a thread."""

    def __init__(
        self, spark: SparkSession, graph: Graph, directory: PipelineDirectory, options: RunOptions
    ) -> None:
        super().__init__(spark, with_unrouted_sinks(graph, directory.path), directory)
        self._options = options
        self._phase = "opening sinks"
        self._samples = Samples(spark)
        self._heartbeats = Heartbeats(spark, str(directory.path.resolve()))
        self._planned = self._plan()
        self._cleaner = ExchangeCleaner(exchange_readers(directory.path, self._planned))
        self._progress = ProgressLog(self.queries, self._acknowledge)
        self._queries = RunQueries(self.graph, self._planned, options, self._progress)
        deliveries = [planned.delivery for planned in self._planned]
        calls = call_totals(spark, self.graph)
        inputs = [planned.inputs for planned in self._planned]
        self._status = RunStatus(calls, deliveries, inputs, self._progress, self._heartbeats)
        self._progress.listen(spark, on_failure=self._abort)
        self._idleness = IdlenessTicker(self.graph, self._heartbeats, on_failure=self._abort)
        start_thread(graph.name, self._execute, on_failure=self._fail)

    @property
    def queries(self) -> list[Query]:
        return [planned.query for planned in self._planned]

    def status(self) -> Status:
        return self._status.read(active=not self._ended.is_set(), phase=self._phase)

    def sample(self, name: str, *, rows: int = ROWS, timeout: float = SECONDS) -> list[dict[str, Any]]:
        return self._samples.take(find_edge(self.graph, name), rows, timeout)

    def _last_rows(self, sink: str) -> tuple[float, list[dict[str, Any]]]:
        return self._samples.last_rows(sink)

    def _violations(self, step: str) -> dict[str, list[dict[str, Any]]]:
        held = (planned.delivery.held.get(step) for planned in self._planned)
        sampled = [each.sampled_rows() for each in held if each is not None]
        # A step that several queries read is checked by each of them, with the same rows.
        rules = dict.fromkeys(rule for rows in sampled for rule in rows)
        return {
            rule: next(([*map(read_row, rows[rule])] for rows in sampled if rows.get(rule)), [])
            for rule in rules
        }

    def stop(self) -> None:
        self._queries.stop_gracefully()
        self._ended.wait()

    def kill(self) -> None:
        self._queries.stop()
        self._ended.wait()

    def _plan(self) -> list[PlannedQuery]:
        directory, samples = self.directory.path, self._samples
        planned = QueryPlanner(self.spark, self.graph, directory, self._heartbeats, samples=samples).plan()
        for each in planned:
            each.delivery.tap = samples.tap_sink
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
            for planned in self._planned:
                planned.delivery.open()
            self._phase = "reading"
            if self._options.bounded:
                self._run_bounded()
            else:
                self._run_until_stopped()
        except BaseException as error:
            self._fail(error)
        finally:
            self._end()

    def _run_until_stopped(self) -> None:
        for planned in self._planned:
            if not self._queries.stopping:
                self._queries.launch(planned)
        self._idleness.start()
        for planned in self._planned:
            self._queries.await_end(planned)

    def _run_bounded(self) -> None:
        drains = self._options.until == "drained"
        execution = BoundedExecution(self._queries, drains=drains)
        execution.catch_up()
        if not drains or self._queries.stopping:
            return
        self._phase = "draining"
        self._heartbeats.end()
        execution.drain()
        if not self._queries.stopping:
            self.directory.mark_drained()

    def _abort(self, error: BaseException) -> None:
        """Fail the run with the error of a background thread."""
        self._fail(error)
        self._queries.stop()

    def _end(self) -> None:
        self._idleness.stop()
        for planned in self._planned:
            with contextlib.suppress(Exception):  # the first failure has been recorded
                if planned.spark_query is not None and planned.spark_query.isActive:
                    planned.spark_query.stop()
                planned.delivery.close()
        self._status.close()
        self._heartbeats.close()
        self._progress.settle()
        with contextlib.suppress(OSError):  # the next run retries
            self._cleaner.clean()
        for planned in self._planned:
            planned.inputs.close()
        self._progress.close()
        self._release("stopped" if self._queries.stopping else self._options.until)
        self._ended.set()
