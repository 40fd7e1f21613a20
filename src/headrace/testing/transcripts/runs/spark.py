"""Run a pipeline through Spark with the sources, clock and kills of a script.

Plan, queries, lowering and delivery protocol are those of a normal run.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.memory import Memory
from headrace.lowering.watermarks import END_OF_TIME_MS, Heartbeats
from headrace.runtime.progress.row_accounting import RowAccounting
from headrace.runtime.queries.planner import PlannedQuery, QueryPlanner
from headrace.runtime.virtual_time import Clock, Feed, quick_session
from headrace.spark.gateway import silent_callbacks
from headrace.steps.endpoints.source import Source
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.results.outputs import Output
from headrace.testing.transcripts.runs.collecting import (
    CollectingWriter,
    Collector,
    sink_name,
    with_outputs,
)
from headrace.testing.transcripts.runs.inputs import Input, ScriptedInputs, ScriptedTable
from headrace.testing.transcripts.script import times_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.yaml.positions import Value


_SECOND = 1_000_000
_WAIT = 60 * _SECOND
"""How long a comparison waits for rows that the clock releases."""
_RESTART = 15 * _SECOND
"""How long a restart takes."""


class Killed(Exception):  # noqa: N818 - not an error: requested by a script
    """Raised where the script kills the run."""


class SparkRun:
    """A run of a case as Spark queries."""

    def __init__(self, spark: SparkSession, case: Case, *, also: tuple[str, ...] = ()) -> None:
        """Start the pipeline of a case; `also` adds outputs to collect."""
        self.session = quick_session(spark)
        self._graph = with_outputs(case.graph, tuple(dict.fromkeys([*case.outputs, *also])))
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-", dir=_quick_directory()))
        self._clock = Clock(self.session)
        self._runs_clock = bool(self._graph.of(ClockTime)) and not case.moves_clock
        self._partitioned = case.partitioned
        self._feeds = {source.name: Input(self.session, source) for source in self._graph.of(Source)}
        for source in self._graph.of(Source):
            if isinstance(source.connector, Memory) and source.connector.rows:
                self._feeds[source.name].add(list(source.connector.rows))
        self.collectors = {sink.name: Collector(sink.mode) for sink in self._graph.sinks}
        self._id = uuid.uuid4().hex
        fixed = [node.name for source in case.fed for node in times_of(self._graph, source)]
        self._heartbeats = Heartbeats(self.session, self._id, fixed=fixed, clock=self._clock.java_clock)
        self._tables = {
            node.name: ScriptedTable(node)
            for node in self._graph.of(MatchRules)
            if node.name in case.rule_steps
        }
        self._killed = False
        self.ended = False
        self._dropped: dict[tuple[str, int], int] = {}
        self._missed = 0
        self._queries: list[PlannedQuery] = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def rows(
        self,
        rows: Mapping[str, Any],
        *,
        partitions: Mapping[str, Sequence[str]] | None = None,
        kill: bool = False,
    ) -> None:
        """Run a micro-batch with these rows and at most one without data.

        With `kill`, the run is killed in the epoch of the rows, before Spark commits it.
        """
        for source, content in rows.items():
            self._feeds[source].add(content, (partitions or {}).get(source))
        self._killed = kill
        with silent_callbacks():
            try:
                self._run_batches()
            except Exception:
                if not self._killed:
                    raise

    def rules(self, tables: Mapping[str, Value]) -> None:
        """Replace the rules of these steps from the next micro-batch on."""
        for step, content in tables.items():
            self._tables[step].change(content)

    def watermark(self, marks: Mapping[str, int]) -> None:
        """Set the watermark of each source, in microseconds."""
        for source, micros in marks.items():
            for node in times_of(self._graph, source):
                self._advance_watermark(node, micros // 1000)
        self._run_batches()

    def advance(self, microseconds: int) -> None:
        """Advance the clock."""
        self._clock.advance(microseconds)
        now = self._clock.millis
        for clock in self._graph.of(ClockTime):
            self._advance_watermark(clock, now)
        self._heartbeats.tick()
        self._run_batches()

    def wait(self) -> Iterator[None]:
        """Let time pass without rows; yields whenever there may be new results.

        The watermark passes the newest rows by a millisecond, then the clock moves by seconds. What the
        script moves itself stays as it is.
        """
        self._heartbeats.pass_newest_rows()
        self._run_batches()
        yield
        for _ in range(_WAIT // _SECOND if self._runs_clock else 0):
            self.advance(_SECOND)
            yield

    def restart(self) -> None:
        """Kill the run and restart it from its checkpoint.

        In processing time a restart takes a while, unless the script moves the clock.
        """
        was_killed, self._killed = self._killed, False
        self._missed = self.missed_windows
        self._stop()
        self._heartbeats.close()  # a new process has only the checkpoint
        self._start()
        if self._runs_clock:
            self.advance(_RESTART)
        if was_killed:
            self._run_batches()

    def end(self) -> None:
        """End the input."""
        self.ended = True
        self._heartbeats.end()
        self._run_batches()
        if any(planned.uses_clock for planned in self._queries):
            self._clock.advance((END_OF_TIME_MS - self._clock.millis) * 1000)
            self._run_batches()
        for accounting in self.accounting.values():
            if accounting.in_open_windows or accounting.buffered:
                raise RuntimeError(f"rows are still in state after the end of the input: {accounting}")

    def take(self, output: str) -> list[Output]:
        """Return the rows of an output since the last call."""
        return self.collectors[sink_name(self._graph, output)].take()

    def all_rows(self, output: str) -> list[Output]:
        """Return all rows of an output."""
        return self.collectors[sink_name(self._graph, output)].history

    @property
    def missed_windows(self) -> int:
        """The number of sliding windows missed by rows that other windows accepted."""
        return self._missed + sum(accounting.missed for accounting in self.accounting.values())

    @property
    def dropped_rows(self) -> int:
        """The number of late rows that Spark's operators dropped."""
        return sum(self._dropped.values())

    @property
    def accounting(self) -> dict[str, RowAccounting]:
        """The row accounting of each kernel step since the last start."""
        logs = [
            planned.delivery.accounting
            for planned in self._queries
            if planned.delivery.accounting is not None
        ]
        return {log.step: log.current() for log in logs}

    @property
    def feeds(self) -> dict[str, Feed]:
        """Return the rows of the script by source."""
        return {name: entry.feed for name, entry in self._feeds.items()}

    def is_complete(self, output: str) -> bool:
        """Return true if every epoch writes all rows of the output (complete mode)."""
        return self.collectors[sink_name(self._graph, output)].complete

    def close(self) -> None:
        """Stop the run and delete its files."""
        deliveries = [planned.delivery for planned in self._queries]
        self._stop()
        for delivery in deliveries:
            delivery.close()
        self._heartbeats.close()
        for feed in self._feeds.values():
            feed.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _start(self) -> None:
        planner = QueryPlanner(
            self.session,
            self._graph,
            self._directory,
            self._heartbeats,
            build_inputs=self._inputs,
            build_writer=lambda sink: CollectingWriter(self.collectors[sink.name]),
        )
        for planned in planner.plan():
            planned.delivery.load_rules()
            planned.delivery.open()
            self._queries.append(planned)
            planned.spark_query = self._clock.start(
                planned.stream_plan,
                self._deliver(planned),
                mode=planned.output_mode,
                name=f"{self._id}.{planned.query.name}",
                checkpoint=str(planned.checkpoint / "spark"),
            )

    def _inputs(self, *arguments: Any, **options: Any) -> ScriptedInputs:
        inputs = ScriptedInputs(*arguments, **options)
        inputs.feeds = self.feeds
        inputs.tables = self._tables
        inputs.partitioned = self._partitioned
        return inputs

    def _deliver(self, planned: PlannedQuery) -> Callable[[DataFrame, int], None]:
        def deliver(batch: DataFrame, epoch: int) -> None:
            planned.delivery(batch, epoch)
            if self._killed:
                raise Killed

        return deliver

    def _run_batches(self) -> None:
        """Run a micro-batch of each query and at most one more; readers of an exchange after its writer."""
        for planned in self._queries:
            for _ in range(2):
                self._step(planned)

    def _step(self, planned: PlannedQuery) -> None:
        try:
            planned.spark_query.step()
        except Exception as error:
            raise (planned.delivery.failure or error) from error
        log = planned.delivery.accounting
        if log is not None and not (accounting := log.current()).balanced:
            raise RuntimeError(f"the rows of `{log.step}` do not add up: {accounting}")
        epoch, dropped = planned.spark_query.late_rows_dropped()
        key = (planned.query.name, epoch)
        self._dropped[key] = max(dropped, self._dropped.get(key, 0))  # steps without a batch report 0

    def _stop(self) -> None:
        for planned in self._queries:
            if planned.spark_query is not None:
                planned.spark_query.stop()
            planned.inputs.close()
        self._queries = []

    def _advance_watermark(self, node: EventTime | ClockTime, millis: int) -> None:
        if node.name in self._heartbeats.steps:
            self._heartbeats.advance(node.name, millis)


def _quick_directory() -> str | None:
    """Return a directory in memory if there is one; checkpoints of tests are temporary."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
