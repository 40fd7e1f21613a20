"""Sources, and stateless steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.code.functions import apply_function, is_ordered
from headrace.lowering.dispatch import lower
from headrace.lowering.expressions import ROUTE, TIME, column, drop_hidden, hidden_columns
from headrace.lowering.sql_queries import run_query
from headrace.lowering.tables.changes import LABEL, new_rows
from headrace.lowering.watermarks import block_predicate_pushdown
from headrace.steps.base import Node, Ref
from headrace.steps.code.functions import FunctionStep
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.facts import CHANGE
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.route import Route
from headrace.steps.rows.sql import Sql
from headrace.steps.rows.union import Union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.lowering import Lowering
    from headrace.plan.graph import Graph


@lower.register(Source)
def _source(node: Source, lowering: Lowering) -> DataFrame:
    return lowering.inputs.source(node)


@lower.register(FrameSource)
def _frame_source(node: FrameSource, lowering: Lowering) -> DataFrame:
    return lowering.inputs.frame(node)


@lower.register(EventTime)
def _event_time(node: EventTime, lowering: Lowering) -> DataFrame:
    frame = lowering.frame(node.input).drop(TIME)
    return _add_time(node, lowering, frame) if lowering.sets_event_time else frame


@lower.register(ClockTime)
def _clock_time(node: ClockTime, lowering: Lowering) -> DataFrame:
    if any(isinstance(step, EventTime) for step in lowering.graph.upstream(node)):
        lowering = lowering.without_event_time()
    frame = lowering.frame(node.input).drop(TIME)
    return _add_time(node, lowering, frame.withColumn(node.column, F.current_timestamp()))


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
    frame, where = new_rows(node, node.input, lowering), lowering.graph.where(node)
    return apply_function(frame, node, where, time_column, ordered=is_ordered(node, lowering.graph))


@lower.register(Route)
def _route(node: Route, lowering: Lowering) -> DataFrame:
    """Add the name of the first branch whose condition is true."""
    frame = lowering.frame(node.input)
    branch = F.when(F.lit(False), F.lit(""))
    for name, condition in node.branches:
        branch = branch.when(column(condition), F.lit(name))
    return frame.withColumn(ROUTE, branch)


@lower.register(Sql)
def _sql(node: Sql, lowering: Lowering) -> DataFrame:
    frames = {table: drop_hidden(new_rows(node, ref, lowering)) for table, ref in node.tables}
    rows = run_query(node.query, frames, lowering.spark)
    changes = lowering.graph.facts(Ref(node.name)).change == "table"  # the query passes `change` on
    return rows.withColumn(LABEL, F.col(CHANGE)) if changes else rows


def _add_time(node: EventTime | ClockTime, lowering: Lowering, frame: DataFrame) -> DataFrame:
    """Add the watermark; prevent Spark from pushing filters of later steps below it."""
    timed = lowering.inputs.add_watermark(frame, node, _sources(node, lowering.graph))
    consumers = lowering.graph.consumers[Ref(node.name)]
    unfiltered = all(step.stateful for step in consumers)
    return timed if unfiltered or not timed.isStreaming else block_predicate_pushdown(timed)


def _sources(node: Node, graph: Graph) -> list[Source]:
    """Return the sources whose positions the rows of a node have; none after a stateful step."""
    upstream = graph.upstream(node)
    return [] if any(step.stateful for step in upstream) else [s for s in upstream if isinstance(s, Source)]
