"""A pipeline on stage: its sources fed by a script, its outputs collected, its clock and its deaths in our hands.

It is the real thing otherwise: the same plan, cut into the same queries, lowered by the same code, run by Spark and
delivered epoch by epoch through the same protocol as in production.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.memory import Memory
from headrace.lowering.sources import StreamInputs
from headrace.lowering.watermarks import END_OF_TIME_MS, Heartbeats
from headrace.plan.graph import Graph
from headrace.runtime.queries import Assembled, Assembly
from headrace.runtime.row_accounting import Balance
from headrace.runtime.virtual_time import Clock, Feed, quick_session
from headrace.spark.gateway import silent_callbacks
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.testing.transcripts.case import Case
from headrace.testing.transcripts.changing import ScriptedTable
from headrace.testing.transcripts.collecting import CollectingWriter, Collector
from headrace.testing.transcripts.feeding import Idle, Input
from headrace.testing.transcripts.outputs import Output
from headrace.testing.transcripts.script import output_of, times_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.queries import Query
    from headrace.rules.tables import RuleTable
    from headrace.yaml.positions import Value


class Killed(Exception):  # noqa: N818 - not an error: what a script asked for
    """The run dies here, as the script says."""


class _ScriptedInputs(StreamInputs):
    """Sources read from feeds instead of their connectors; all else as in a real run."""

    feeds: Mapping[str, Feed] = {}
    tables: Mapping[str, ScriptedTable] = {}

    def rules(self, node: MatchRules) -> RuleTable:
        return self.tables.get(node.name) or super().rules(node)

    def _read(self, node: Source) -> DataFrame:
        return self.feeds[node.name].stream(self.spark)


class Stage:
    """One run of one case."""

    def __init__(self, spark: SparkSession, case: Case, *, also: tuple[str, ...] = ()) -> None:
        """Start the case's pipeline; `also` names outputs to collect that the script doesn't look at."""
        self._session = quick_session(spark)
        self._graph = with_outputs(case.graph, tuple(dict.fromkeys([*case.outputs, *also])))
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-", dir=_quick_directory()))
        self._clock = Clock(self._session)
        self._feeds = {source.name: Input(self._session, source) for source in self._graph.of(Source)}
        self.collectors = {sink.name: Collector(sink.mode) for sink in self._graph.sinks}
        self._id = uuid.uuid4().hex
        fixed = [node.name for source in case.fed for node in times_of(self._graph, source)]
        self._heartbeats = Heartbeats(self._session, self._id, fixed=fixed)
        self._idle = Idle(self._graph, fixed)
        self._tables = {
            node.name: ScriptedTable(node) for node in self._graph.of(MatchRules) if node.name in case.ruled
        }
        self._dying = False
        self._dropped: dict[tuple[str, int], int] = {}
        self._missed = 0
        self._queries: list[Assembled] = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def rows(self, rows: Mapping[str, Any], *, dying: bool = False) -> None:
        """One micro-batch of these rows, and at most one without data. With `dying`, the run ends in that epoch."""
        for source, content in rows.items():
            self._feeds[source].add(content)
        self._idle.saw(rows, self._clock.millis)
        self._dying = dying
        with silent_callbacks():
            try:
                self._settle()
            except Exception:
                if not self._dying:
                    raise

    def rules(self, tables: Mapping[str, Value]) -> None:
        """The tables of these steps hold other rules now; the next micro-batch sees them."""
        for step, content in tables.items():
            self._tables[step].change(content)

    def watermark(self, marks: Mapping[str, int]) -> None:
        """The watermark of each source is now exactly this, in microseconds."""
        for source, micros in marks.items():
            for node in times_of(self._graph, source):
                self._beat(node, micros // 1000)
        self._settle()

    def advance(self, microseconds: int) -> None:
        """The clock jumps."""
        self._clock.advance(microseconds)
        now = self._clock.millis
        for clock in self._graph.of(ClockTime):
            self._beat(clock, now)
        for node, millis in self._idle.beats(now):
            self._beat(node, millis)
        self._settle()

    def restart(self) -> None:
        """The run dies without a clean stop and starts again from its checkpoint."""
        died, self._dying = self._dying, False
        self._missed = self.missed
        self._stop()
        self._heartbeats.forget()  # a new process knows only what the checkpoint holds
        self._start()
        if died:
            self._settle()

    def end(self) -> None:
        """The input ends for good."""
        self._heartbeats.end()
        self._settle()
        if any(built.by_clock for built in self._queries):
            self._clock.advance((END_OF_TIME_MS - self._clock.millis) * 1000)
            self._settle()
        for balance in self.balances.values():
            if balance.open or balance.waiting:
                raise RuntimeError(f"the input has ended, and rows are still held: {balance}")

    def take(self, output: str) -> list[Output]:
        """What an output gave since it was last looked at."""
        return self.collectors[_sink_name(self._graph, output)].take()

    def came(self, output: str) -> list[Output]:
        """All that an output ever gave."""
        return self.collectors[_sink_name(self._graph, output)].history

    @property
    def missed(self) -> int:
        """How many places in sliding windows rows were too late for, while others took them."""
        return self._missed + sum(balance.missed for balance in self.balances.values())

    @property
    def dropped(self) -> int:
        """How many rows Spark's own operators dropped as late."""
        return sum(self._dropped.values())

    @property
    def balances(self) -> dict[str, Balance]:
        """Where the rows of each step in the kernel went, since the run began or was started again."""
        logs = [built.delivery.balance for built in self._queries if built.delivery.balance is not None]
        return {log.step: log.balance() for log in logs}

    @property
    def session(self) -> SparkSession:
        return self._session

    @property
    def feeds(self) -> dict[str, Feed]:
        """What the script has given, by source."""
        return {name: given.feed for name, given in self._feeds.items()}

    def holds_whole(self, output: str) -> bool:
        """Whether each epoch brings all rows of the output again."""
        return self.collectors[_sink_name(self._graph, output)].whole

    def close(self) -> None:
        """End the run and forget all of it."""
        deliveries = [built.delivery for built in self._queries]
        self._stop()
        for delivery in deliveries:
            delivery.close()
        self._heartbeats.forget()
        for feed in self._feeds.values():
            feed.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _start(self) -> None:
        assembly = Assembly(
            self._session,
            self._graph,
            self._directory,
            inputs_of=self._inputs,
            writer_of=lambda sink: CollectingWriter(self.collectors[sink.name]),
        )
        for built in assembly.assembled():
            built.delivery.begin()
            built.delivery.open()
            self._queries.append(built)
            built.running = self._clock.start(
                built.trunk,
                self._deliver(built),
                mode=built.output_mode,
                name=f"{self._id}.{built.query.name}",
                checkpoint=str(built.checkpoint / "spark"),
            )

    def _inputs(self, query: Query) -> StreamInputs:
        inputs = _ScriptedInputs(
            self._session,
            self._graph.name,
            self._directory,
            self._heartbeats,
            speaks_for=query.speaks_for,
        )
        inputs.feeds = self.feeds
        inputs.tables = self._tables
        return inputs

    def _deliver(self, built: Assembled) -> Callable[[DataFrame, int], None]:
        def deliver(batch: DataFrame, epoch: int) -> None:
            built.delivery(batch, epoch)
            if self._dying:
                raise Killed

        return deliver

    def _settle(self) -> None:
        """Let each query run a batch and at most one more; readers of a hand-over log after its writer."""
        for built in self._queries:
            for _ in range(2):
                self._step(built)

    def _step(self, built: Assembled) -> None:
        try:
            built.running.step()
        except Exception as error:
            raise (built.delivery.failure or error) from error
        if built.delivery.balance is not None and not (found := built.delivery.balance.balance()).balanced:
            raise RuntimeError(f"the rows of `{built.delivery.balance.step}` don't add up: {found}")
        epoch, dropped = built.running.dropped()
        place = (built.query.name, epoch)
        self._dropped[place] = max(dropped, self._dropped.get(place, 0))  # idle steps report 0 again

    def _stop(self) -> None:
        for built in self._queries:
            if built.running is not None:
                built.running.stop()
            built.inputs.close()
        self._queries = []

    def _beat(self, node: EventTime | ClockTime, millis: int) -> None:
        if node.name in self._heartbeats.steps:
            self._heartbeats.beat(node.name, millis)


def with_outputs(graph: Graph, outputs: tuple[str, ...]) -> Graph:
    """The plan with a sink for each output that is looked at, and no others."""
    nodes = {node.name: node for node in graph if not isinstance(node, Sink) or node.name in outputs}
    bare = Graph(graph.name, nodes, graph.places)
    added = []
    for name in outputs:
        ref = output_of(graph, name)
        if ref is not None and not isinstance(graph.nodes.get(name), Sink):
            added.append(Sink(_sink_name(graph, name), ref, Memory()))
    return bare.plus(*added)


def _sink_name(graph: Graph, output: str) -> str:
    return output if isinstance(graph.nodes.get(output), Sink) else f"{output.replace('.', '_')}:looked_at"


def _quick_directory() -> str | None:
    """Memory, where the machine offers it as a directory: checkpoints of a test need not outlive it."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
