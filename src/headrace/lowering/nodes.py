"""Lower each kind of node: one function from the frames of its inputs to its own.

A node with several outputs has one frame for all of them; `outputs.py` selects an output.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.code.functions import apply_function
from headrace.lowering.code.processors import Wake, apply_processor
from headrace.lowering.counts import Time
from headrace.lowering.distinct import drop_duplicates
from headrace.lowering.event_times import AHEAD
from headrace.lowering.expressions import (
    REFINED,
    ROUTE,
    TIME,
    column,
    drop_hidden,
    hidden_columns,
    name_columns,
    spelled_name,
)
from headrace.lowering.joins.joins import join_streams
from headrace.lowering.lookups.frames import apply_on_miss, join_table, read_by_key
from headrace.lowering.patterns.match_recognize import find_row_patterns
from headrace.lowering.patterns.matches import find_matches
from headrace.lowering.patterns.rules import RuleStep
from headrace.lowering.queries import run_query
from headrace.lowering.tables.changes import is_changelog
from headrace.lowering.tables.joins import join_table_rows
from headrace.lowering.tables.steps import complete_rows, latest_rows, running_rows, top_rows
from headrace.lowering.watermarks import block_predicate_pushdown
from headrace.lowering.windows.native import aggregate_native_windows
from headrace.lowering.windows.operator import aggregate_windows
from headrace.lowering.windows.python_aggregates import check_picklable
from headrace.plan.changes import feeds_changes
from headrace.rules.revision import load_now
from headrace.schemas.datatypes import quote_name
from headrace.steps.base import Node, Ref
from headrace.steps.code.functions import FunctionStep
from headrace.steps.code.process import Process
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.expressions import hidden_key
from headrace.steps.joins.sides import TwoInputs
from headrace.steps.keyed import KeyedNode
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
from headrace.triggers import Emission
from headrace.windows import Session, Sliding, Tumbling

if TYPE_CHECKING:
    from headrace.lowering.lowering import Lowering
    from headrace.plan.graph import Graph


@singledispatch
def lower(node: Node, lowering: Lowering) -> DataFrame:
    """Return the frame of a node with all its outputs."""
    raise NotImplementedError(type(node).__name__)


@lower.register(Source)
def _source(node: Source, lowering: Lowering) -> DataFrame:
    return lowering.inputs.source(node)


@lower.register(FrameSource)
def _frame_source(node: FrameSource, lowering: Lowering) -> DataFrame:
    return lowering.inputs.frame(node)


@lower.register(EventTime)
def _event_time(node: EventTime, lowering: Lowering) -> DataFrame:
    return _add_time(node, lowering, lowering.frame(node.input).drop(TIME))


@lower.register(ClockTime)
def _clock_time(node: ClockTime, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input).drop(TIME)
    return _add_time(node, lowering, frame.withColumn(node.column, F.current_timestamp()))


def _add_time(node: EventTime | ClockTime, lowering: Lowering, frame: DataFrame) -> DataFrame:
    """Add the watermark; prevent Spark from pushing filters of later steps below it."""
    timed = lowering.inputs.add_watermark(frame, node, _sources(node, lowering.graph))
    consumers = lowering.graph.consumers[Ref(node.name)]
    unfiltered = all(step.stateful and not isinstance(step, Sql) for step in consumers)
    return timed if unfiltered or not timed.isStreaming else block_predicate_pushdown(timed)


def _sources(node: Node, graph: Graph) -> list[Source]:
    """Return the sources whose positions the rows of a node have; none after a stateful step."""
    upstream = graph.upstream(node)
    return [] if any(step.stateful for step in upstream) else [s for s in upstream if isinstance(s, Source)]


@lower.register(Where)
def _where(node: Where, lowering: Lowering) -> DataFrame:
    return lowering.frame(node.input).where(column(node.condition))


@lower.register(Select)
def _select(node: Select, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input)
    chosen = [column(item).alias(name) if name else column(item) for name, item in node.columns]
    return frame.select(*chosen, *hidden_columns(frame))


@lower.register(WithColumns)
def _with_columns(node: WithColumns, lowering: Lowering) -> DataFrame:
    return lowering.frame(node.input).withColumns({name: column(item) for name, item in node.columns})


@lower.register(Drop)
def _drop(node: Drop, lowering: Lowering) -> DataFrame:
    return lowering.frame(node.input).drop(*node.columns)


@lower.register(Union)
def _union(node: Union, lowering: Lowering) -> DataFrame:
    first, *others = (lowering.frame(ref) for ref in node.streams)
    for other in others:
        first = first.unionByName(other, allowMissingColumns=True)
    return first


@lower.register(FunctionStep)
def _function(node: FunctionStep, lowering: Lowering) -> DataFrame:
    time_column = lowering.graph.facts(node.input).time_column
    frame, where = lowering.frame(node.input), lowering.graph.where(node)
    return apply_function(frame, node, where, time_column, ordered=_is_ordered(node, lowering.graph))


def _is_ordered(node: Node, graph: Graph) -> bool:
    """Return True if a later step uses the arrival order or the partitions of the source."""
    later = [step for step in graph if any(other is node for other in graph.upstream(step))]
    return any(step.stateful or isinstance(step, EventTime) for step in later if step is not node)


@lower.register(Route)
def _route(node: Route, lowering: Lowering) -> DataFrame:
    """Add the name of the first branch whose condition is true."""
    frame = lowering.frame(node.input)
    branch = F.when(F.lit(False), F.lit(""))
    for name, condition in node.branches:
        branch = branch.when(column(condition), F.lit(name))
    return frame.withColumn(ROUTE, branch)


@lower.register(Lookup)
def _lookup(node: Lookup, lowering: Lowering) -> DataFrame:
    frame, where = lowering.frame(node.input), lowering.graph.where(node)
    task = lowering.inputs.lookup_task(node)
    if task is None:
        rows = join_table(frame, node, lowering.inputs.table(node), where)
    else:
        rows = read_by_key(frame, node, task, where)
    return apply_on_miss(node, rows, lowering.inputs.lookups.counts_of(node))


@lower.register(Sql)
def _sql(node: Sql, lowering: Lowering) -> DataFrame:
    frames = {table: drop_hidden(lowering.frame(ref)) for table, ref in node.tables}
    return run_query(node.query, frames, lowering.spark)


@lower.register(Aggregate)
def _aggregate(node: Aggregate, lowering: Lowering) -> DataFrame:
    frame = lowering.changes(node.input)
    if not is_changelog(frame) or not frame.isStreaming:
        return drop_hidden(frame).groupBy(*name_columns(node.keys)).agg(*name_columns(node.aggregates))
    if node.emits_all(lowering.graph):
        return complete_rows(frame, name_columns(node.keys), name_columns(node.aggregates))
    ready, keys, _ = _add_keys(frame, node, lowering)
    return running_rows(ready, keys, name_columns(node.aggregates), counts=lowering.count(node))


@lower.register(WindowAggregate)
def _window(node: WindowAggregate, lowering: Lowering) -> DataFrame:
    check_picklable(lowering.graph.where(node), node)
    frame = lowering.changes(node.input)
    native = node.emission.late_rows == "count" and AHEAD not in frame.columns
    if native or _is_native_batch(frame, node):
        return aggregate_native_windows(frame, node, name_columns(node.keys), name_columns(node.aggregates))
    aggregates = {name: column(item) for name, item in node.aggregates}
    ready, keys, time = _add_keys(frame, node, lowering)
    if not frame.isStreaming:
        return aggregate_windows(ready, keys, node.window, Emission(), aggregates, time=time)
    refined = feeds_changes(lowering.graph, node)
    emission = replace(node.emission, mode="retracting") if refined else node.emission
    rows = aggregate_windows(
        ready, keys, node.window, emission, aggregates, time=time, ttl=node.ttl, counts=lowering.count(node)
    )
    return rows.withColumn(REFINED, F.lit(True)) if refined else rows


def _add_keys(frame: DataFrame, node: KeyedNode, lowering: Lowering) -> tuple[DataFrame, list[str], Time]:
    """Return a step's input with computed keys as columns, the names of all key columns, and its time."""
    computed = {hidden_key(name): column(key) for name, key in node.keys if key != name}
    keys = [spelled_name(frame, name) if key == name else hidden_key(name) for name, key in node.keys]
    return frame.withColumns(computed), keys, _time(node, lowering)


def _time(node: KeyedNode | RowPattern | TwoInputs, lowering: Lowering) -> Time:
    return "clock" if lowering.graph.facts(node.input).by_clock else "event"


def _is_native_batch(frame: DataFrame, node: WindowAggregate) -> bool:
    """True if Spark's operator returns the same rows: in a batch nothing is late, and a window fires once."""
    native = isinstance(node.window, Tumbling | Sliding | Session)
    return native and node.emission.fires_once and not frame.isStreaming


@lower.register(Match)
def _match(node: Match, lowering: Lowering) -> DataFrame:
    frame, keys, time = _add_keys(lowering.frame(node.input), node, lowering)
    return find_matches(frame, keys, node, time=time, counts=lowering.count(node))


@lower.register(MatchRules)
def _match_rules(node: MatchRules, lowering: Lowering) -> DataFrame:
    frame, keys, time = _add_keys(lowering.frame(node.input), node, lowering)
    step = lowering.rules[node.name] = RuleStep(frame, lowering.graph, node, keys, time=time)
    if not frame.isStreaming:
        load_now(step, lowering.inputs.rules(node))
        return step.rows()
    return step.rows(lowering.count(node))


@lower.register(RowPattern)
def _row_pattern(node: RowPattern, lowering: Lowering) -> DataFrame:
    return find_row_patterns(
        _select_input(node, lowering), node, time=_time(node, lowering), counts=lowering.count(node)
    )


def _select_input(node: RowPattern, lowering: Lowering) -> DataFrame:
    """Return the input rows of a row pattern, with hidden columns."""
    frame = lowering.frame(node.input)
    if node.input_query is None:
        return frame
    hidden = hidden_columns(frame)
    query = node.input_query.to_sql(hidden)
    rows = run_query(query, {node.table: block_predicate_pushdown(frame)}, lowering.spark)
    visible = [name for name in rows.columns if name not in hidden]
    names = node.input_query.names or visible
    return rows.select(*map(quote_name, visible), *hidden).toDF(*names, *hidden)


@lower.register(Process)
def _process(node: Process, lowering: Lowering) -> DataFrame:
    frame, keys, time = _add_keys(lowering.frame(node.input), node, lowering)
    if TIME not in frame.columns and node.uses_clock(timed=False) and frame.isStreaming:
        wake = Wake(f"{node.name}:clock", node.input, "processing")
        with_clock = frame.withColumn(wake.column, F.current_timestamp())
        frame = lowering.inputs.add_watermark(with_clock, wake, []).drop(wake.column, TIME)
    return apply_processor(
        frame, keys, node, lowering.graph.where(node), time=time, counts=lowering.count(node)
    )


@lower.register(Distinct)
def _distinct(node: Distinct, lowering: Lowering) -> DataFrame:
    return drop_duplicates(lowering.spark, lowering.frame(node.input), node, lowering.count(node))


@lower.register(TwoInputs)
def _join(node: TwoInputs, lowering: Lowering) -> DataFrame:
    left, right = lowering.frame(node.input), lowering.frame(node.other)
    return join_streams(left, right, node, time=_time(node, lowering), counts=lowering.count(node))


@lower.register(TableJoin)
def _table_join(node: TableJoin, lowering: Lowering) -> DataFrame:
    left, right = (lowering.changes(ref) for ref in node.inputs)
    facts = [lowering.graph.facts(ref) for ref in node.inputs]
    return join_table_rows(left, right, node, facts, counts=lowering.count(node))


@lower.register(Latest)
def _latest(node: Latest, lowering: Lowering) -> DataFrame:
    frame, keys, _ = _add_keys(lowering.frame(node.input), node, lowering)
    versions = bool(lowering.graph.consumers[Ref(node.name, VERSIONS)])
    facts = lowering.graph.facts(node.input)
    return latest_rows(frame, keys, node, facts, versions=versions, counts=lowering.count(node))


@lower.register(TopN)
def _top_n(node: TopN, lowering: Lowering) -> DataFrame:
    frame, keys, _ = _add_keys(lowering.changes(node.input), node, lowering)
    return top_rows(frame, keys, node, lowering.graph.facts(node.input), counts=lowering.count(node))
