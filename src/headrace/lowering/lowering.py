"""From nodes to DataFrames: one function for each kind of node.

`Lowering` walks the plan from wherever its frames are already known (sources, logs, or a micro-batch) and
memoises. It serves streams and batches alike: whether a frame is streaming is decided where the sources are
read.

Columns that start with `__` are Headrace's own. They stay with the rows through every `select`, and
are taken off before a sink or a SQL text sees the rows: `__ts` (event time), `__position` (arrival order),
`__route`, and for steps with several outputs `__output` with one struct for each (`__main`, `__late`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import count
from typing import TYPE_CHECKING, Protocol

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from headrace.errors import PlanError, Problem
from headrace.lowering.code.functions import apply_function, keep_succeeded, select_failed
from headrace.lowering.code.processors import Wake, apply_processor
from headrace.lowering.distinct import deduplicated
from headrace.lowering.event_times import AHEAD
from headrace.lowering.expressions import HIDDEN, OUTPUT, REFINED, ROUTE, TIME, column, hidden, named, shown
from headrace.lowering.joins.joins import join_output, join_streams
from headrace.lowering.lookups.frames import divide, join_table, lookup_output, read_by_key
from headrace.lowering.match_recognize import recognized
from headrace.lowering.native import native_windows
from headrace.lowering.patterns import matched
from headrace.lowering.python_aggregates import refuse_unpicklable, with_results
from headrace.lowering.rules import RuleStep
from headrace.lowering.tables.changes import as_changes, is_changelog, label_panes
from headrace.lowering.tables.joins import join_table_rows, table_join_output
from headrace.lowering.tables.steps import latest_rows, running_rows, top_rows
from headrace.lowering.watermarks import block_predicate_pushdown
from headrace.lowering.windows import Counts, Time, windowed, windowed_batch
from headrace.plan.changes import feeds_changes
from headrace.rules.revision import load_now
from headrace.spark.errors import spark_says
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.code.functions import FunctionStep
from headrace.steps.code.process import Process
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.expressions import Named, hidden_key
from headrace.steps.facts import LATE_COLUMNS, late_columns
from headrace.steps.joins.sides import TwoInputs
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.lookup import Lookup
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.steps.tables.join import TableJoin
from headrace.steps.tables.latest import VERSIONS, Latest
from headrace.steps.tables.top_n import TopN
from headrace.windows import Session, Sliding, Tumbling

if TYPE_CHECKING:
    from headrace.lowering.decode import DeadLetters
    from headrace.lowering.lookups.steps import LookupSteps
    from headrace.lowering.lookups.worker import LookupTask
    from headrace.plan.graph import Graph
    from headrace.rules.tables import RuleTable

_view_numbers = count()


class Inputs(Protocol):
    """The sources and tables outside the plan."""

    def source(self, node: Source) -> DataFrame:
        """The decoded rows of a source."""
        ...

    def frame(self, node: FrameSource) -> DataFrame:
        """The rows of a DataFrame source."""
        ...

    lookups: LookupSteps

    def table(self, node: Lookup) -> DataFrame:
        """The table of a lookup."""
        ...

    def lookup_task(self, node: Lookup) -> LookupTask | None:
        """The task of a lookup that runs in Python workers; None for a broadcast join."""
        ...

    def rules(self, node: MatchRules) -> RuleTable:
        """The table of a step's rules."""
        ...

    def failures(self, node: FunctionStep, rows: DataFrame) -> DeadLetters | None:
        """Return the collector of the rows that a function diverts, given its input."""
        ...

    def add_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, sources: Sequence[Source]
    ) -> DataFrame:
        """Put a watermark on the node's column; `sources` are those of the rows."""
        ...


class Lowering:
    """The frames of one plan, built on demand."""

    def __init__(
        self,
        spark: SparkSession,
        graph: Graph,
        inputs: Inputs,
        *,
        raw: Mapping[str, DataFrame] | None = None,
        frames: Mapping[Ref, DataFrame] | None = None,
    ) -> None:
        self.spark = spark
        self.graph = graph
        self.inputs = inputs
        self.counts: dict[str, Counts] = {}
        """Where the rows of each stateful step of the kernel are counted."""
        self.rules: dict[str, RuleStep] = {}
        """The steps that take their patterns from a table."""
        self.in_epoch = False
        """True if several sinks read the rows of a micro-batch."""
        self.persisted: list[DataFrame] = []
        self._raw = dict(raw or {})
        self._frames = dict(frames or {})

    def with_frames(self, frames: Mapping[Ref, DataFrame]) -> Lowering:
        """The same with more outputs known."""
        known = {**self._frames, **frames}
        other = Lowering(self.spark, self.graph, self.inputs, raw=self._raw, frames=known)
        other.in_epoch, other.persisted = self.in_epoch, self.persisted
        return other

    def frame(self, ref: Ref) -> DataFrame:
        """The rows of one output, hidden columns included."""
        if ref not in self._frames:
            self._frames[ref] = self._named(ref.step, lambda: self._output(self.graph[ref.step], ref))
        return self._frames[ref]

    def _output(self, node: Node, ref: Ref) -> DataFrame:
        raw = self.raw(ref.step)
        if not isinstance(node, FunctionStep):
            return output_of(node, ref, raw)
        rows = self.frame(node.input)
        return (
            select_failed(raw, rows) if ref.output else keep_succeeded(raw, self.inputs.failures(node, rows))
        )

    def changes(self, ref: Ref) -> DataFrame:
        """The rows of one output as a stateful step reads them: panes may retract earlier ones."""
        return as_changes(self.frame(ref))

    def is_lowered(self, ref: Ref) -> bool:
        """Return True if the frame of an output exists."""
        return ref in self._frames

    def raw(self, step: str) -> DataFrame:
        """All outputs of a step in one frame, as its query computes them."""
        if step not in self._raw:
            frame = self._named(step, lambda: lower(self.graph[step], self))
            reused = self.in_epoch and isinstance(self.graph[step], FunctionStep)
            self._raw[step] = self._persist(frame) if reused else frame
        return self._raw[step]

    def _persist(self, frame: DataFrame) -> DataFrame:
        """Keep the rows of an epoch.

        User code is called once per row, though several sinks read the result.
        """
        self.persisted.append(frame.persist())
        return frame

    def release(self) -> None:
        """Drop what was kept for an epoch."""
        for frame in self.persisted:
            frame.unpersist()

    def _named(self, step: str, build: Callable[[], DataFrame]) -> DataFrame:
        """Build a frame; raise errors of Spark's analysis with the name and place of the step."""
        where = self.graph.where(self.graph[step])
        try:
            return build()
        except PlanError as error:
            if not any(problem.where == f"`{step}`" for problem in error.problems):
                raise
            # What looks at the step alone knows its name, and no place.
            raise PlanError([Problem(where, one.what, one.hint) for one in error.problems]) from None
        except (AnalysisException, ParseException) as error:
            what, hint = spark_says(error)
            raise PlanError([Problem(where, what, hint)]) from None


@singledispatch
def lower(node: Node, lowering: Lowering) -> DataFrame:
    """The frame of a node; see the functions below, one for each kind."""
    raise NotImplementedError(type(node).__name__)


@lower.register
def _source(node: Source, lowering: Lowering) -> DataFrame:
    return lowering.inputs.source(node)


@lower.register
def _frame_source(node: FrameSource, lowering: Lowering) -> DataFrame:
    return lowering.inputs.frame(node)


@lower.register
def _event_time(node: EventTime, lowering: Lowering) -> DataFrame:
    return _timed(node, lowering, lowering.frame(node.input).drop(TIME))


@lower.register
def _clock_time(node: ClockTime, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input).drop(TIME)
    return _timed(node, lowering, frame.withColumn(node.column, F.current_timestamp()))


def _timed(node: EventTime | ClockTime, lowering: Lowering, frame: DataFrame) -> DataFrame:
    """Add the watermark; conditions of later steps must not be pushed below it."""
    timed = lowering.inputs.add_watermark(frame, node, _sources(node, lowering.graph))
    followers = lowering.graph.consumers[Ref(node.name)]
    unconditional = all(step.stateful and not isinstance(step, Sql) for step in followers)
    return timed if unconditional or not timed.isStreaming else block_predicate_pushdown(timed)


def _sources(node: Node, graph: Graph) -> list[Source]:
    """The sources whose positions the rows of a node have.

    None behind a stateful step, which gives its own order.
    """
    upstream = graph.upstream(node)
    return [] if any(step.stateful for step in upstream) else [s for s in upstream if isinstance(s, Source)]


@lower.register
def _where(node: Where, lowering: Lowering) -> DataFrame:
    return lowering.frame(node.input).where(column(node.condition))


@lower.register
def _select(node: Select, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input)
    chosen = [column(item).alias(name) if name else column(item) for name, item in node.columns]
    return frame.select(*chosen, *hidden(frame))


@lower.register
def _with_columns(node: WithColumns, lowering: Lowering) -> DataFrame:
    return lowering.frame(node.input).withColumns({name: column(item) for name, item in node.columns})


@lower.register
def _drop(node: Drop, lowering: Lowering) -> DataFrame:
    return lowering.frame(node.input).drop(*node.columns)


@lower.register
def _union(node: Union, lowering: Lowering) -> DataFrame:
    first, *others = (lowering.frame(ref) for ref in node.streams)
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first


@lower.register
def _function(node: FunctionStep, lowering: Lowering) -> DataFrame:
    time_column = lowering.graph.facts(node.input).time_column
    frame, where = lowering.frame(node.input), lowering.graph.where(node)
    return apply_function(frame, node, where, time_column, ordered=_is_ordered(node, lowering.graph))


def _is_ordered(node: Node, graph: Graph) -> bool:
    """Return True if a later step uses the order of arrival, or the partitions of the source."""
    using = [step for step in graph if step is not node and (step.stateful or isinstance(step, EventTime))]
    return any(node in graph.upstream(step) for step in using)


@lower.register
def _route(node: Route, lowering: Lowering) -> DataFrame:
    """Number the branch a row takes: the first whose condition holds."""
    frame = lowering.frame(node.input)
    taken = F.when(F.lit(False), F.lit(""))
    for name, condition in node.branches:
        taken = taken.when(column(condition), F.lit(name))
    return frame.withColumn(ROUTE, taken)


@lower.register
def _lookup(node: Lookup, lowering: Lowering) -> DataFrame:
    frame, where = lowering.frame(node.input), lowering.graph.where(node)
    task = lowering.inputs.lookup_task(node)
    if task is None:
        rows = join_table(frame, node, lowering.inputs.table(node), where)
    else:
        rows = read_by_key(frame, node, task, where)
    return divide(node, rows, lowering.inputs.lookups.counts_of(node))


@lower.register
def _sql(node: Sql, lowering: Lowering) -> DataFrame:
    frames = {table: shown(lowering.frame(ref)) for table, ref in node.tables}
    return queried(node.query, frames, lowering.spark)


def queried(query: str, frames: Mapping[str, DataFrame], otherwise: SparkSession) -> DataFrame:
    """Run a query over views with unique names: several pipelines may share a session."""
    views = {table: f"__headrace_{next(_view_numbers)}" for table in frames}
    # A micro-batch has a session of its own, which alone knows the views made of its frames.
    spark = next((frame.sparkSession for frame in frames.values()), otherwise)
    for table, frame in frames.items():
        frame.createOrReplaceTempView(views[table])
    try:
        return spark.sql(_over_views(query, views))
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


@lower.register
def _aggregate(node: Aggregate, lowering: Lowering) -> DataFrame:
    frame = lowering.changes(node.input)
    if not is_changelog(frame) or not frame.isStreaming:
        return shown(frame).groupBy(*named(node.keys)).agg(*named(node.aggregates))
    ready, keys, _ = _keyed(frame, node, lowering)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return running_rows(ready, keys, named(node.aggregates), counts=counts)


@lower.register
def _window(node: WindowAggregate, lowering: Lowering) -> DataFrame:
    refuse_unpicklable(lowering.graph.where(node), node)
    frame = lowering.changes(node.input)
    native = node.emission.late_rows == "count" and AHEAD not in frame.columns
    if native or _same_in_batch(frame, node):
        return native_windows(frame, node, named(node.keys), named(node.aggregates))
    aggregates = {name: column(item) for name, item in node.aggregates}
    ready, keys, time = _keyed(frame, node, lowering)
    if not frame.isStreaming:
        return windowed_batch(ready, keys, node.window, aggregates, time=time)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    refined = feeds_changes(lowering.graph, node)
    emission = replace(node.emission, mode="retracting") if refined else node.emission
    rows = windowed(ready, keys, node.window, emission, aggregates, time=time, ttl=node.ttl, counts=counts)
    return rows.withColumn(REFINED, F.lit(True)) if refined else rows


def _keyed(
    frame: DataFrame,
    node: Aggregate | WindowAggregate | Match | MatchRules | Latest | TopN | Process,
    lowering: Lowering,
) -> tuple[DataFrame, list[str], Time]:
    """A step's input with its computed keys as columns; the names of all key columns.

    And what its time is.
    """
    computed = {hidden_key(name): column(key) for name, key in node.keys if key != name}
    keys = [name if key == name else hidden_key(name) for name, key in node.keys]
    return frame.withColumns(computed), keys, _time(node, lowering)


def _time(
    node: Aggregate | WindowAggregate | Match | MatchRules | RowPattern | TwoInputs | Latest | TopN | Process,
    lowering: Lowering,
) -> Time:
    return "clock" if lowering.graph.facts(node.input).by_clock else "event"


def _same_in_batch(frame: DataFrame, node: WindowAggregate) -> bool:
    """True if Spark's own operator returns the rows that the kernel would.

    In a batch nothing is late and a window fires once.
    """
    native = isinstance(node.window, Tumbling | Sliding | Session)
    return native and node.emission.fires_once and not frame.isStreaming


@lower.register
def _match(node: Match, lowering: Lowering) -> DataFrame:
    frame, keys, time = _keyed(lowering.frame(node.input), node, lowering)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return matched(frame, keys, node, time=time, counts=counts)


@lower.register
def _match_rules(node: MatchRules, lowering: Lowering) -> DataFrame:
    frame, keys, time = _keyed(lowering.frame(node.input), node, lowering)
    step = lowering.rules[node.name] = RuleStep(frame, lowering.graph, node, keys, time=time)
    if not frame.isStreaming:
        load_now(step, lowering.inputs.rules(node))
        return step.rows()
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return step.rows(counts)


@lower.register
def _row_pattern(node: RowPattern, lowering: Lowering) -> DataFrame:
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return recognized(_chosen(node, lowering), node, time=_time(node, lowering), counts=counts)


def _chosen(node: RowPattern, lowering: Lowering) -> DataFrame:
    """The rows that a row pattern is over, with Headrace's own columns."""
    frame = lowering.frame(node.input)
    if node.input_query is None:
        return frame
    own = hidden(frame)
    rows = queried(
        node.input_query.to_sql(own), {node.table: block_predicate_pushdown(frame)}, lowering.spark
    )
    shown_names = [name for name in rows.columns if name not in own]
    names = node.input_query.names or shown_names
    return rows.select(*shown_names, *own).toDF(*names, *own)


@lower.register
def _process(node: Process, lowering: Lowering) -> DataFrame:
    frame, keys, time = _keyed(lowering.frame(node.input), node, lowering)
    if TIME not in frame.columns and node.uses_clock(timed=False) and frame.isStreaming:
        wake = Wake(f"{node.name}:clock", node.input, "processing")
        with_clock = frame.withColumn(wake.column, F.current_timestamp())
        frame = lowering.inputs.add_watermark(with_clock, wake, []).drop(wake.column, TIME)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return apply_processor(frame, keys, node, lowering.graph.where(node), time=time, counts=counts)


@lower.register
def _distinct(node: Distinct, lowering: Lowering) -> DataFrame:
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return deduplicated(lowering.spark, lowering.frame(node.input), node, counts)


@lower.register
def _join(node: TwoInputs, lowering: Lowering) -> DataFrame:
    left, right = lowering.frame(node.input), lowering.frame(node.other)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return join_streams(left, right, node, time=_time(node, lowering), counts=counts)


@lower.register
def _table_join(node: TableJoin, lowering: Lowering) -> DataFrame:
    left, right = (lowering.changes(ref) for ref in node.inputs)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    facts = [lowering.graph.facts(ref) for ref in node.inputs]
    return join_table_rows(left, right, node, facts, counts=counts)


@lower.register
def _latest(node: Latest, lowering: Lowering) -> DataFrame:
    frame, keys, _ = _keyed(lowering.frame(node.input), node, lowering)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    versions = bool(lowering.graph.consumers[Ref(node.name, VERSIONS)])
    facts = lowering.graph.facts(node.input)
    return latest_rows(frame, keys, node, facts, versions=versions, counts=counts)


@lower.register
def _top_n(node: TopN, lowering: Lowering) -> DataFrame:
    frame, keys, _ = _keyed(lowering.changes(node.input), node, lowering)
    counts = lowering.counts[node.name] = Counts(lowering.spark)
    return top_rows(frame, keys, node, lowering.graph.facts(node.input), counts=counts)


def output_of(node: Node, ref: Ref, raw: DataFrame) -> DataFrame:
    """One output out of all those that a step's frame holds."""
    if isinstance(node, Route):
        return raw.where(F.col(ROUTE) == ref.output).drop(ROUTE)
    if isinstance(node, Lookup):
        return lookup_output(node, ref, raw)
    if OUTPUT in raw.columns:
        tag = ref.output or "main"
        rows = raw.where(F.col(OUTPUT) == tag).select(f"{HIDDEN}{tag}.*")
        if isinstance(node, WindowAggregate) and not ref.output:
            rows = _panes(rows, node, refined=REFINED in raw.columns)
        return _tagged_output(node, ref, rows)
    if ref.output != MAIN:
        raise PlanError([Problem(f"`{node.name}`", f"it has no output `{ref.output}` in this form")])
    return with_results(raw, node) if isinstance(node, WindowAggregate) else raw


def _tagged_output(node: Node, ref: Ref, rows: DataFrame) -> DataFrame:
    if isinstance(node, TableJoin) and not ref.output:
        return table_join_output(rows, node, f"`{node.name}`")
    if isinstance(node, TwoInputs) and not isinstance(node, TableJoin):
        return join_output(rows, node, ref.output, f"`{node.name}`")
    if isinstance(node, RowPattern) and ref.output == MAIN:
        return queried(node.rest, {node.table: rows}, rows.sparkSession)
    keys: Named = getattr(node, "keys", ())
    rows = rows.withColumnsRenamed({hidden_key(name): name for name, _ in keys})
    if ref.output == "late":
        return rows.toDF(*late_columns(rows.columns[: -len(LATE_COLUMNS)]))
    return with_results(rows, node) if isinstance(node, WindowAggregate) and not ref.output else rows


def _panes(rows: DataFrame, node: WindowAggregate, *, refined: bool) -> DataFrame:
    if node.emission.fires_once:
        return label_panes(rows, "")
    return label_panes(rows, "refined" if refined else node.emission.mode)


def _over_views(query: str, views: Mapping[str, str]) -> str:
    """The query with each table defined in front of it, so that it can use its own names for them."""
    defined = ", ".join(f"`{table}` as (select * from {view})" for table, view in views.items())
    own = re.match(r"\s*with\s+", query, re.IGNORECASE)
    return f"with {defined}, {query[own.end() :]}" if own else f"with {defined} {query}"
