"""Plan the Spark queries of a pipeline: the streaming plan, the sinks and the output mode of each.

Used by runs and by transcripts, which pass other inputs (`build_inputs`) and writers (`build_writer`) and
start the queries differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.checkpoints.layout import (
    checkpoint_of,
    has_pending_firing,
    read_checkpoint_id,
    watermark_of_epoch,
)
from headrace.checkpoints.signatures import (
    STATELESS,
    Signature,
    read_signature,
    signature_of,
    signature_problem,
    write_signature,
)
from headrace.checkpoints.sources import check_sources
from headrace.connectors.base import Upserting, WriteContext, WriteMode, Writer
from headrace.errors import PlanError, Problem
from headrace.lowering.expressions import POSITION
from headrace.lowering.lowering import Inputs, Lowering
from headrace.lowering.tables.changes import for_sink
from headrace.plan.queries import Query, is_dead_letters, queries_of
from headrace.rules.book import RuleBook
from headrace.runtime.delivery import Delivery, SinkBinding
from headrace.runtime.exchanges.exchange import Exchange, exchange_path
from headrace.runtime.progress.log import EXCHANGE
from headrace.runtime.progress.row_accounting import AccountingLog
from headrace.steps.base import Node, Ref
from headrace.steps.code.functions import FunctionStep
from headrace.steps.endpoints.sink import Sink
from headrace.steps.joins.sides import TwoInputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.lowering.sources import StreamInputs
    from headrace.plan.graph import Graph
    from headrace.runtime.samples import Samples

OutputMode = Literal["append", "update", "complete"]


@dataclass
class PlannedQuery:
    """A query that is ready to start."""

    query: Query
    stream_plan: DataFrame
    """The streaming part: from the sources to the stateful step, or to the last output that all sinks
    read.
    """
    output_mode: OutputMode
    delivery: Delivery
    checkpoint: Path
    inputs: StreamInputs
    uses_clock: bool = False
    """True if it has processing-time timers, for which Spark runs batches without new data."""
    signature: Signature = field(default_factory=lambda: dict(STATELESS))
    spark_query: Any = None
    """The Spark query, once it is started."""

    @property
    def holds_rows(self) -> bool:
        """True if the step has rows in open windows or buffered rows."""
        accounting = self.delivery.accounting.current() if self.delivery.accounting is not None else None
        return accounting is not None and bool(accounting.in_open_windows or accounting.buffered)


class QueryPlanner:
    """Plan the queries of a pipeline in order: the reader of an exchange after its writer."""

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        directory: str | Path,
        *,
        build_inputs: Callable[[Query], StreamInputs],
        build_writer: Callable[[Sink], Writer] = lambda sink: sink.connector.writer(),
        samples: Samples | None = None,
    ) -> None:
        self.spark = spark
        self.graph = graph
        self.directory = Path(directory)
        self.build_inputs = build_inputs
        self.build_writer = build_writer
        self._marks: dict[str, Any] = {} if samples is None else {"mark": samples.mark}
        self._taps: dict[str, Any] = {} if samples is None else {"mark": samples.tap}
        self._schemas: dict[Ref, Any] = {}
        """The schemas of all analysed outputs, exchanges among them."""

    def plan(self) -> list[PlannedQuery]:
        """Plan all queries, and let Spark analyse every output that they write.

        Raises:
            PlanError: Spark rejects an expression, or a checkpoint has state of a different declaration or
                offsets of a different source.
        """
        check_sources(self.graph, self.directory)
        planned = self._plan_all()
        check_signatures(self.graph, planned, self.directory)
        for each in planned:
            write_signature(each.checkpoint, each.signature)
        return planned

    def _plan_all(self) -> list[PlannedQuery]:
        planned: list[PlannedQuery] = []
        problems: list[Problem] = []
        for query in queries_of(self.graph):
            if not all(ref in self._schemas for ref in query.reads):
                continue  # the writer of an exchange was rejected
            try:
                planned.append(self._plan(query))
            except PlanError as error:
                problems += error.problems
        if problems:
            raise PlanError(list(dict.fromkeys(problems)))
        return planned

    def _plan(self, query: Query) -> PlannedQuery:
        inputs = self.build_inputs(query)
        checkpoint = checkpoint_of(self.directory, query)
        step = self.graph[query.output.step]
        uses_clock = any(step.fires_by_clock(self.graph.facts(ref)) for ref in step.inputs)
        inputs.checkpoint = checkpoint
        inputs.run_on_start = uses_clock or has_pending_firing(checkpoint)
        exchanges = {ref: self._read_exchange(ref, inputs) for ref in query.reads}
        lowering = Lowering(self.spark, self.graph, inputs, frames=exchanges, **self._marks)
        runs_once = step.runs_once(self.graph)
        frame = lowering.raw(step.name) if runs_once else lowering.frame(query.output)
        if not runs_once and not query.writes:
            frame = frame.drop(POSITION)  # used by stateful steps only
        delivery = Delivery(self._batch_lowering(query, inputs), [], lookups=inputs.lookups)
        delivery.open_log = partial(AccountingLog, checkpoint)
        if step.name in lowering.counts:
            delivery.counts, delivery.accounting = (
                lowering.counts[step.name],
                AccountingLog(checkpoint, step.name),
            )
        if step.name in lowering.rules:
            delivery.rules = RuleBook(lowering.rules[step.name], inputs.rules(step), checkpoint)  # type: ignore[arg-type]
        mode = self._output_mode(query)
        signature = sign_state(self.graph, step, lowering)
        planned = PlannedQuery(query, frame, mode, delivery, checkpoint, inputs, uses_clock, signature)
        delivery.functions = self._list_functions(query, frame, inputs)
        delivery.dead_letters = {
            name: inputs.dead_letters[name] for name in query.primary_reader_of if name in inputs.dead_letters
        }
        delivery.sinks = [*self._bind_exchanges(query, planned), *self._bind_sinks(query, planned)]
        self._analyse(query, frame, planned)
        return planned

    def _list_functions(self, query: Query, frame: DataFrame, inputs: StreamInputs) -> list[Ref]:
        """Return the functions after the streaming part whose dead letters the query delivers.

        Lowers them once, so that their collectors exist before the first epoch.
        """
        streamed = self.graph.upstream(self.graph[query.output.step])
        functions = [self.graph[name] for name in query.dead_letters_of]
        refs = [Ref(f.name) for f in functions if isinstance(f, FunctionStep) and f not in streamed]
        for ref in refs:
            self._batch_lowering(query, inputs)(frame).frame(ref)
        return refs

    def _batch_lowering(self, query: Query, inputs: Inputs) -> Callable[[DataFrame], Lowering]:
        """Return a function that lowers the steps after the streaming plan for a micro-batch."""
        build = partial(Lowering, self.spark, self.graph, inputs, **self._taps)
        if self.graph[query.output.step].runs_once(self.graph):
            return lambda batch: build(raw={query.output.step: batch})
        return lambda batch: build(frames={query.output: batch})

    def _output_mode(self, query: Query) -> OutputMode:
        step = self.graph[query.output.step]
        if not step.updates or step.tier(self.graph).name == "kernel":
            return "append"  # the kernel emits the changes itself
        # Sinks of dead letters always append; the output mode depends on the other sinks.
        sinks = [sink for sink in self._sinks(query) if not is_dead_letters(self.graph, sink.input)]
        modes = {sink.write_mode(self.graph) for sink in sinks}
        return modes.pop() if len(modes) == 1 else "update"

    def _sinks(self, query: Query) -> list[Sink]:
        return [node for name in query.sinks if isinstance(node := self.graph[name], Sink)]

    def _bind_sinks(self, query: Query, planned: PlannedQuery) -> list[SinkBinding]:
        return [self._bind_sink(sink, planned) for sink in self._sinks(query)]

    def _bind_sink(self, sink: Sink, planned: PlannedQuery) -> SinkBinding:
        writer = self.build_writer(sink)
        key = writer.upsert_key if isinstance(writer, Upserting) else ()
        return SinkBinding(
            sink.name,
            sink.input,
            writer,
            self._run(planned, sink.name, sink.write_mode(self.graph)),
            lambda frame, epoch: for_sink(frame, key),
            of_dead_letters=is_dead_letters(self.graph, sink.input),
        )

    def _bind_exchanges(self, query: Query, planned: PlannedQuery) -> list[SinkBinding]:
        return [self._bind_exchange(ref, planned) for ref in query.writes]

    def _bind_exchange(self, ref: Ref, planned: PlannedQuery) -> SinkBinding:
        exchange = self._exchange(ref)
        run = self._run(planned, f"{EXCHANGE}{ref}", "append")

        def prepare(frame: DataFrame, epoch: int) -> DataFrame:
            return exchange.add_marker(frame, watermark_of_epoch(planned.checkpoint, epoch))

        of_dead_letters = is_dead_letters(self.graph, ref)
        return SinkBinding(
            run.sink, ref, exchange.writer(), run, prepare, of_dead_letters=of_dead_letters, every_epoch=True
        )

    def _read_exchange(self, ref: Ref, inputs: StreamInputs) -> DataFrame:
        return self._exchange(ref).read(
            self.spark, self._schemas[ref], inputs.heartbeats, run_on_start=inputs.run_on_start
        )

    def _exchange(self, ref: Ref) -> Exchange:
        facts = self.graph.facts(ref)
        return Exchange(self.directory, ref, timed=facts.timed, hold=facts.hold or 0)

    def _run(self, planned: PlannedQuery, sink: str, mode: WriteMode) -> WriteContext:
        directory = str(self.directory / "sinks" / sink)
        return WriteContext(self.graph.name, sink, read_checkpoint_id(planned.checkpoint), mode, directory)

    def _analyse(self, query: Query, frame: DataFrame, planned: PlannedQuery) -> None:
        """Let Spark analyse every output that the query writes, to report errors before the first epoch.

        Stores the schemas of exchanges, which their readers need before the first file is written.
        """
        lowering = self._batch_lowering(query, planned.inputs)(frame)
        lowering = lowering.with_frames(planned.delivery.side_frames(frame))
        problems: list[Problem] = []
        for ref in dict.fromkeys([*query.writes, *(sink.input for sink in self._sinks(query))]):
            try:
                schema = lowering.frame(ref).schema
            except PlanError as error:
                problems += error.problems
            else:
                self._schemas[ref] = schema
        if problems:
            raise PlanError(problems)


def exchange_readers(directory: Path, planned: list[PlannedQuery]) -> dict[Path, list[Path]]:
    """Return, by the directory of each exchange, the checkpoints of the queries that read it."""
    readers: dict[Path, list[Path]] = {}
    for each in planned:
        for ref in each.query.reads:
            readers.setdefault(exchange_path(directory, ref), []).append(each.checkpoint)
    return readers


def sign_state(graph: Graph, step: Node, lowering: Lowering) -> Signature:
    """Return the state signature of the step of a query."""
    if not step.stateful:
        return dict(STATELESS)
    inputs = [lowering.frame(ref).schema for ref in step.inputs]
    sides = ("left.", "right.") if isinstance(step, TwoInputs) else ("",) * len(inputs)
    types = {
        f"{side}{column.name}": column.dataType.simpleString()
        for side, schema in zip(sides, inputs, strict=True)
        for column in schema
    }
    return signature_of(step, types, by_clock=any(graph.facts(ref).by_clock for ref in step.inputs))


def check_signatures(graph: Graph, planned: list[PlannedQuery], directory: Path) -> None:
    """Compare every stateful step with the state signature in the checkpoint directory.

    Raises:
        PlanError: with each step that differs.
    """
    problems = [
        signature_problem(
            graph.where(graph[each.query.output.step]),
            read_signature(checkpoint_of(directory, each.query)),
            each.signature,
        )
        for each in planned
    ]
    if differing := [problem for problem in problems if problem is not None]:
        raise PlanError(differing)
