"""From a plan to queries that can be started: each with its trunk, its way out, and its output mode.

Real runs and test scripts share this; they differ in where rows come from (`Inputs`), where they go (`writer_of`) and
who starts the queries.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.checkpoints.layout import checkpoint_of, owes_a_batch, watermark_in_force
from headrace.checkpoints.signatures import STATELESS, Record, changed, keep, kept, record_of
from headrace.checkpoints.sources import refuse_moved
from headrace.connectors.base import WriteContext, WriteMode, Writer
from headrace.errors import PlanError
from headrace.lowering.expressions import POSITION
from headrace.lowering.lowering import Inputs, Lowering
from headrace.plan.facts import by_clock, change_of, delay_of, hold_of, is_timed, lives_by_clock
from headrace.plan.queries import Query, made_of_dead_letters, queries_of
from headrace.rules.book import RuleBook
from headrace.runtime.delivery import Delivery, Outlet
from headrace.runtime.exchange import HandoverLog
from headrace.runtime.row_accounting import BalanceLog
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.patterns.match_rules import FAULTS
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.aggregate import Aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.lowering.sources import StreamInputs
    from headrace.plan.graph import Graph

OutputMode = Literal["append", "update", "complete"]


@dataclass
class Assembled:
    """A query that is ready to start."""

    query: Query
    trunk: DataFrame
    output_mode: OutputMode
    delivery: Delivery
    checkpoint: Path
    inputs: StreamInputs
    by_clock: bool = False
    """Whether it lives by the clock: then Spark always sees a reason for another batch."""
    record: Record = field(default_factory=lambda: dict(STATELESS))
    """What its state depends on."""
    running: Any = None
    """The Spark query, once it runs."""


class Assembly:
    """Puts the queries of one plan together, in order: a reader of a log after its writer."""

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        directory: str | Path,
        *,
        inputs_of: Callable[[Query], StreamInputs],
        writer_of: Callable[[Sink], Writer],
    ) -> None:
        self.spark = spark
        self.graph = graph
        self.directory = Path(directory)
        self.inputs_of = inputs_of
        self.writer_of = writer_of
        self._schemas: dict[Ref, Any] = {}

    def assembled(self) -> list[Assembled]:
        """All queries of the plan.

        Raises:
            PlanError: a checkpoint holds the state of a step that was declared differently, or a place in another source.
        """
        refuse_moved(self.graph, self.directory)
        built = [self._assemble(query) for query in queries_of(self.graph)]
        refuse_changed(self.graph, built, self.directory)
        for one in built:
            keep(one.checkpoint, one.record)
        return built

    def _assemble(self, query: Query) -> Assembled:
        inputs = self.inputs_of(query)
        checkpoint = checkpoint_of(self.directory, query)
        tip = self.graph[query.tip.step]
        ticks = lives_by_clock(self.graph, tip)
        inputs.wakes = ticks or owes_a_batch(checkpoint)
        logs = {ref: self._read_log(ref, inputs) for ref in query.reads}
        trunk = Lowering(self.spark, self.graph, inputs, frames=logs)
        frame = trunk.raw(tip.name) if tip.stateful else trunk.frame(query.tip)
        if not tip.stateful and not query.hands_over:
            frame = frame.drop(POSITION)  # the order of arrival is for stateful steps
        delivery = Delivery(self._branches(query, inputs), [])
        if tip.name in trunk.counts:
            delivery.counts, delivery.balance = trunk.counts[tip.name], BalanceLog(checkpoint, tip.name)
        if tip.name in trunk.rules:
            delivery.rules = RuleBook(trunk.rules[tip.name], inputs.rules(tip), checkpoint)  # type: ignore[arg-type]
        mode = self._output_mode(query)
        record = declared(self.graph, tip, trunk)
        built = Assembled(query, frame, mode, delivery, checkpoint, inputs, ticks, record)
        delivery.dead_letters = {
            name: inputs.dead_letters[name] for name in query.speaks_for if name in inputs.dead_letters
        }
        delivery.outlets = [*self._logs_out(query, built), *self._sinks_out(query, built)]
        self._remember_schemas(query, frame, built)
        return built

    def _branches(self, query: Query, inputs: Inputs) -> Callable[[DataFrame], Lowering]:
        """Make the frames after the tip from a micro-batch."""
        if self.graph[query.tip.step].stateful:
            return lambda batch: Lowering(self.spark, self.graph, inputs, raw={query.tip.step: batch})
        return lambda batch: Lowering(self.spark, self.graph, inputs, frames={query.tip: batch})

    def _output_mode(self, query: Query) -> OutputMode:
        tip = self.graph[query.tip.step]
        if not isinstance(tip, Aggregate) and not (isinstance(tip, Sql) and tip.groups):
            return "append"
        sinks = [node for name in query.sinks if isinstance(node := self.graph[name], Sink)]
        # Sinks of dead letters always append; they must not decide how the rows of the aggregate are emitted.
        modes = {_mode(self.graph, s) for s in sinks if not made_of_dead_letters(self.graph, s.input)}
        return modes.pop() if len(modes) == 1 else "update"

    def _sinks_out(self, query: Query, built: Assembled) -> list[Outlet]:
        sinks = [node for name in query.sinks if isinstance(node := self.graph[name], Sink)]
        return [
            Outlet(
                sink.name,
                sink.input,
                self.writer_of(sink),
                self._run(built, sink.name, _mode(self.graph, sink)),
                of_dead_letters=made_of_dead_letters(self.graph, sink.input),
            )
            for sink in sinks
        ]

    def _logs_out(self, query: Query, built: Assembled) -> list[Outlet]:
        return [self._log_out(ref, built) for ref in query.hands_over]

    def _log_out(self, ref: Ref, built: Assembled) -> Outlet:
        log = self._log(ref)
        run = self._run(built, f"handover.{ref}", "append")
        return Outlet(
            run.sink,
            ref,
            log.writer(),
            run,
            lambda frame, epoch: log.with_beat(frame, watermark_in_force(built.checkpoint, epoch)),
            of_dead_letters=made_of_dead_letters(self.graph, ref),
            every_epoch=True,
        )

    def _read_log(self, ref: Ref, inputs: StreamInputs) -> DataFrame:
        return self._log(ref).read(self.spark, self._schemas[ref], inputs.heartbeats, wakes=inputs.wakes)

    def _log(self, ref: Ref) -> HandoverLog:
        timed = is_timed(self.graph, ref)
        delay = delay_of(self.graph, ref) if timed else None
        return HandoverLog(self.directory, ref, delay=delay, hold=hold_of(self.graph, ref))

    def _run(self, built: Assembled, sink: str, mode: WriteMode) -> WriteContext:
        return WriteContext(
            self.graph.name, sink, lineage_of(built.checkpoint), mode, str(self.directory / "sinks" / sink)
        )

    def _remember_schemas(self, query: Query, frame: DataFrame, built: Assembled) -> None:
        """The readers of a log must know its columns before anything is in it."""
        lowering = self._branches(query, built.inputs)(frame)
        for ref in query.hands_over:
            if ref.output == "dead_letters":
                lowering = lowering.with_frames({ref: built.inputs.dead_letters[ref.step].take()})
            if ref.output == FAULTS and built.delivery.rules is not None:
                lowering = lowering.with_frames({ref: built.delivery.rules.fault_rows(self.spark)})
            self._schemas[ref] = lowering.frame(ref).schema


def declared(graph: Graph, tip: Node, trunk: Lowering) -> Record:
    """What the state of a query's step depends on."""
    if not tip.stateful:
        return dict(STATELESS)
    fields = [column for ref in tip.inputs for column in trunk.frame(ref).schema]
    types = {column.name: column.dataType.simpleString() for column in fields}
    return record_of(tip, types, by_clock=any(by_clock(graph, ref) for ref in tip.inputs))


def refuse_changed(graph: Graph, built: list[Assembled], directory: Path) -> None:
    """Compare every stateful step with the one whose state is in the directory.

    Raises:
        PlanError: with each step that differs.
    """
    problems = [
        changed(graph.where(graph[one.query.tip.step]), kept(checkpoint_of(directory, one.query)), one.record)
        for one in built
    ]
    if found := [problem for problem in problems if problem is not None]:
        raise PlanError(found)


def lineage_of(checkpoint: Path) -> str:
    """The id of a checkpoint, made with it: epochs of another lineage are not these epochs."""
    named = checkpoint / "lineage"
    if not named.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        whole = named.with_suffix(".new")
        whole.write_text(uuid.uuid4().hex)
        whole.replace(named)  # a crash must not leave half an id
    return named.read_text()


def _mode(graph: Graph, node: Any) -> WriteMode:
    default: WriteMode = "update" if change_of(graph, node.input) == "updates" else "append"
    return node.mode or default
