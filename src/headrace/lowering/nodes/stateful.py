"""Stateful steps: each calls the function that builds its operator of the kernel or of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.code.processors import Wake, apply_processor
from headrace.lowering.dispatch import lower
from headrace.lowering.distinct import drop_duplicates
from headrace.lowering.expressions import TIME, add_keys, drop_hidden, name_columns
from headrace.lowering.patterns.match_recognize import find_row_patterns, select_input
from headrace.lowering.patterns.matches import find_matches
from headrace.lowering.patterns.rules import RuleStep
from headrace.lowering.tables.changes import LABEL, is_changelog
from headrace.lowering.tables.steps import complete_rows, latest_rows, running_rows, top_rows
from headrace.rules.revision import load_now
from headrace.steps.base import Ref
from headrace.steps.code.process import Process
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.updates import needs_old_rows
from headrace.steps.tables.latest import VERSIONS, Latest
from headrace.steps.tables.top_n import TopN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.lowering import Lowering


@lower.register(Aggregate)
def _aggregate(node: Aggregate, lowering: Lowering) -> DataFrame:
    frame = lowering.changes(node.input)
    keys, aggregates = name_columns(node.keys), name_columns(node.aggregates)
    if not frame.isStreaming:
        return drop_hidden(frame).groupBy(*keys).agg(*aggregates).withColumn(LABEL, F.lit("insert"))
    if node.emits_all(lowering.graph):
        if is_changelog(frame):
            return complete_rows(frame, keys, aggregates)
        return drop_hidden(frame).groupBy(*keys).agg(*aggregates)
    ready, names = add_keys(frame, node.keys)
    both = needs_old_rows(lowering.graph, node)
    return running_rows(ready, names, aggregates, both=both, counts=lowering.count(node))


@lower.register(Match)
def _match(node: Match, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    time = lowering.graph.facts(node.input).time
    return find_matches(frame, keys, node, time=time, counts=lowering.count(node))


@lower.register(MatchRules)
def _match_rules(node: MatchRules, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    time = lowering.graph.facts(node.input).time
    step = lowering.rules[node.name] = RuleStep(frame, lowering.graph, node, keys, time=time)
    if not frame.isStreaming:
        load_now(step, lowering.inputs.rules(node))
        return step.rows()
    return step.rows(lowering.count(node))


@lower.register(RowPattern)
def _row_pattern(node: RowPattern, lowering: Lowering) -> DataFrame:
    frame = select_input(lowering.frame(node.input), node)
    time = lowering.graph.facts(node.input).time
    return find_row_patterns(frame, node, time=time, counts=lowering.count(node))


@lower.register(Process)
def _process(node: Process, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    time = lowering.graph.facts(node.input).time
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


@lower.register(Latest)
def _latest(node: Latest, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.frame(node.input), node.keys)
    versions = bool(lowering.graph.consumers[Ref(node.name, VERSIONS)])
    facts = lowering.graph.facts(node.input)
    return latest_rows(frame, keys, node, facts, versions=versions, counts=lowering.count(node))


@lower.register(TopN)
def _top_n(node: TopN, lowering: Lowering) -> DataFrame:
    frame, keys = add_keys(lowering.changes(node.input), node.keys)
    return top_rows(frame, keys, node, lowering.graph.facts(node.input), counts=lowering.count(node))
