"""Plan the Spark queries of a pipeline: the streaming plan, the sinks and the output mode of each.

Used by runs and by transcripts, which pass other inputs (`build_inputs`) and writers (`build_writer`) and
start the queries differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.checkpoints.layout import checkpoint_of, has_pending_firing, sync_offsets
from headrace.checkpoints.signatures import Signature, write_signature
from headrace.checkpoints.sources import check_sources
from headrace.connectors.base import Writer
from headrace.connectors.row_encoding import column_types, fields_of
from headrace.errors import PlanError, Problem, SchemaError
from headrace.lowering.expressions import POSITION
from headrace.lowering.lowering import Lowering, keep_frame
from headrace.lowering.sources import StreamInputs
from headrace.plan.queries import Query, is_dead_letters, queries_of
from headrace.rules.reloader import RuleReloader
from headrace.runtime.delivery import Delivery
from headrace.runtime.exchanges.exchange import exchange_path
from headrace.runtime.progress.row_accounting import AccountingLog
from headrace.runtime.queries.bindings import Bindings, sinks_of
from headrace.runtime.queries.signatures import check_signatures, sign_state
from headrace.steps.base import DEAD_LETTERS, Ref
from headrace.steps.code.functions import WorkerStep
from headrace.steps.endpoints.sink import Sink
from headrace.steps.facts import duplicates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from headrace.lowering.watermarks import Heartbeats
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
    uses_clock: bool
    """True if it has processing-time timers, for which Spark runs batches without new data."""
    signature: Signature
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
        heartbeats: Heartbeats,
        *,
        build_inputs: Callable[..., StreamInputs] = StreamInputs,
        build_writer: Callable[[Sink], Writer] = lambda sink: sink.connector.writer(),
        samples: Samples | None = None,
    ) -> None:
        """Prepare the planning.

        Args:
            spark: the session.
            graph: the plan.
            directory: the checkpoint directory.
            heartbeats: the heartbeats of the run.
            build_inputs: creates the inputs of a query; called like `StreamInputs`.
            build_writer: creates the writer of a sink.
            samples: samples of the run, if rows can be sampled.
        """
        self.spark = spark
        self.graph = graph
        self.directory = Path(directory)
        self._build_inputs = partial(build_inputs, spark, graph.name, self.directory, heartbeats)
        self._heartbeats = heartbeats
        self._bindings = Bindings(graph, self.directory, build_writer)
        self._on_stream_output = keep_frame if samples is None else samples.mark
        self._on_batch_output = keep_frame if samples is None else samples.tap
        self._schemas: dict[Ref, StructType] = {}
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
            self._heartbeats.remove_unused(each.checkpoint)
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
        step = self.graph[query.output.step]
        checkpoint = checkpoint_of(self.directory, query)
        uses_clock = any(step.fires_by_clock(self.graph.facts(ref)) for ref in step.inputs)
        inputs = self._build_inputs(
            primary_reader_of=query.primary_reader_of,
            checkpoint=checkpoint,
            run_on_start=uses_clock or has_pending_firing(checkpoint),
        )
        exchanges = {ref: self._read_exchange(ref, inputs) for ref in query.reads}
        lowering = Lowering(
            self.spark, self.graph, inputs, frames=exchanges, on_output=self._on_stream_output
        )
        stream_plan = self._stream_plan(query, lowering)
        delivery = self._delivery(query, stream_plan, lowering, checkpoint)
        signature = sign_state(self.graph, step, lowering)
        self._analyse(query, stream_plan, delivery)
        mode = self._output_mode(query)
        return PlannedQuery(query, stream_plan, mode, delivery, checkpoint, inputs, uses_clock, signature)

    def _read_exchange(self, ref: Ref, inputs: StreamInputs) -> DataFrame:
        exchange, schema = self._bindings.exchange(ref), self._schemas[ref]
        return exchange.read(self.spark, schema, inputs.heartbeats, run_on_start=inputs.run_on_start)

    def _stream_plan(self, query: Query, lowering: Lowering) -> DataFrame:
        if self.graph[query.output.step].runs_once(self.graph):
            return lowering.raw(query.output.step)
        frame = lowering.frame(query.output)
        return frame if query.writes else frame.drop(POSITION)  # used by stateful steps only

    def _delivery(
        self, query: Query, stream_plan: DataFrame, lowering: Lowering, checkpoint: Path
    ) -> Delivery:
        inputs, step = lowering.inputs, self.graph[query.output.step]
        lower_batch = self._batch_lowering(query, inputs)
        open_log = partial(AccountingLog, checkpoint)
        delivery = Delivery(
            lower_batch,
            self._bindings.bind(query),
            held=inputs.held,
            open_log=open_log,
            sync_offsets=partial(sync_offsets, checkpoint),
        )
        if step.name in lowering.counts:
            delivery.counts, delivery.accounting = lowering.counts[step.name], open_log(step.name)
        if step.name in lowering.rules:
            table = inputs.rules(step)  # type: ignore[arg-type]
            delivery.rules = RuleReloader(lowering.rules[step.name], table, checkpoint)
        delivery.functions = self._list_functions(query)
        for ref in delivery.functions:  # lowered once, so that their collectors exist before the first epoch
            lower_batch(stream_plan).frame(ref)
        delivery.diverting = frozenset(node.name for node in self.graph if DEAD_LETTERS in node.outputs)
        delivery.dead_letters = {
            name: inputs.dead_letters[name] for name in query.primary_reader_of if name in inputs.dead_letters
        }
        return delivery

    def _list_functions(self, query: Query) -> list[Ref]:
        """Return the functions after the streaming part whose dead letters the query delivers."""
        streamed = self.graph.upstream(self.graph[query.output.step])
        functions = [self.graph[name] for name in query.dead_letters_of]
        return [Ref(f.name) for f in functions if isinstance(f, WorkerStep) and f not in streamed]

    def _batch_lowering(self, query: Query, inputs: StreamInputs) -> Callable[[DataFrame], Lowering]:
        """Return a function that lowers the steps after the streaming plan for a micro-batch."""
        build = partial(Lowering, self.spark, self.graph, inputs, on_output=self._on_batch_output)
        if self.graph[query.output.step].runs_once(self.graph):
            return lambda batch: build(raw={query.output.step: batch})
        return lambda batch: build(frames={query.output: batch})

    def _output_mode(self, query: Query) -> OutputMode:
        step = self.graph[query.output.step]
        if not step.updates or step.tier(self.graph).name == "kernel":
            return "append"  # the kernel emits the changes itself
        # Sinks of dead letters always append; the output mode depends on the other sinks.
        every = sinks_of(self.graph, query)
        sinks = [sink for sink in every if not is_dead_letters(self.graph, sink.input, query.reads)]
        modes = {sink.write_mode(self.graph) for sink in sinks}
        return "complete" if modes == {"complete"} else "update"

    def _analyse(self, query: Query, stream_plan: DataFrame, delivery: Delivery) -> None:
        """Let Spark analyse every output that the query writes, to report errors before the first epoch.

        Stores the schemas of exchanges, which their readers need before the first file is written.
        """
        lowering = delivery.lower_batch(stream_plan).with_frames(delivery.side_frames(stream_plan))
        problems: list[Problem] = []
        for ref in dict.fromkeys(sink.ref for sink in delivery.sinks):
            try:
                self._schemas[ref] = lowering.frame(ref).schema
            except PlanError as error:
                problems += error.problems
            else:
                problems += self._duplicate_columns(ref)
        for binding in delivery.sinks:
            if not problems and isinstance(sink := self.graph.nodes.get(binding.name), Sink):
                problems += self._encoding_problems(sink, binding.prepare(lowering.frame(sink.input), 0))
        if problems:
            raise PlanError(problems)

    def _duplicate_columns(self, ref: Ref) -> list[Problem]:
        """Return the columns of an output that only Spark could name, if two have the same name."""
        where = self.graph.where(self.graph[ref.step])
        names = duplicates(self._schemas[ref].fieldNames())
        hint = self.graph[ref.step].duplicate_hint
        return [Problem(where, f"two columns are called `{name}`", hint) for name in names]

    def _encoding_problems(self, sink: Sink, frame: DataFrame) -> list[Problem]:
        """Return the columns of a sink that its format cannot encode, with the types of Spark's analysis."""
        if not sink.checks_columns:
            return []
        where = self.graph.where(sink)
        try:
            types = column_types(fields_of(frame.schema.jsonValue()))
            problems = list(sink.encoding_problems(types))
        except SchemaError as error:
            problems = [error.problem]
        return [Problem(f"{where}: {problem.where}", problem.what, problem.hint) for problem in problems]


def exchange_readers(directory: Path, planned: list[PlannedQuery]) -> dict[Path, list[Path]]:
    """Return, by the directory of each exchange, the checkpoints of the queries that read it."""
    readers: dict[Path, list[Path]] = {}
    for each in planned:
        for ref in each.query.reads:
            readers.setdefault(exchange_path(directory, ref), []).append(each.checkpoint)
    return readers
