"""Where each step runs: on Spark's own operators, in the kernel, or in Python; and why.

`native` is generated code inside Spark. `kernel` is Headrace's Scala inside the same JVM: for what Spark lacks, at about
the same cost. `arrow` is a step of the kernel whose results go through Python once more, in batches. `python` sends rows to a Python process and back; only steps that hold the user's own Python do that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd
from typing import Literal

from headrace.connectors.base import Connector
from headrace.durations import text
from headrace.explain.phrases import window_phrase
from headrace.plan.facts import by_clock
from headrace.plan.graph import Graph
from headrace.steps.base import Node
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.expressions import Opaque, PythonFold
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import EventTime
from headrace.steps.rows.lookup import Lookup
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.windows import Session, Sliding, Tumbling

TierName = Literal["native", "kernel", "arrow", "python"]


@dataclass(frozen=True)
class Tier:
    """Where a step runs, and why there."""

    name: TierName
    why: str
    python: str = ""
    """What of it runs in Python, if anything."""


def tier_of(graph: Graph, node: Node) -> Tier:
    """The tier of a step."""
    return _TIERS.get(type(node), _stateless)(graph, node)


def _stateless(graph: Graph, node: Node) -> Tier:
    held = any(isinstance(item, Opaque) for item in _held(node))
    why = "a Column of yours: native unless it holds a Python function" if held else "a Spark expression"
    return Tier("native", why)


def _held(node: Node) -> Iterator[object]:
    for value in vars(node).values():
        yield value
        if isinstance(value, tuple):
            yield from (part for item in value if isinstance(item, tuple) for part in item)


def _source(graph: Graph, node: Node) -> Tier:
    assert isinstance(node, Source)
    if node.connector.driver_side:
        return Tier("arrow", "its rows are read by the database's Python client")
    if node.connector.carries == "rows" or node.format is None or node.format.of_rows:
        return Tier("native", "its rows need no decoding")
    return Tier("kernel", f"decodes {node.format.name} from bytes straight into rows")


def _event_time(graph: Graph, node: Node) -> Tier:
    return Tier("native", "Spark's watermark")


def _lookup(graph: Graph, node: Node) -> Tier:
    assert isinstance(node, Lookup)
    table = node.table.kind if isinstance(node.table, Connector) else "the DataFrame"
    return Tier("native", f"a broadcast join; {table} is read when the run starts")


def _sql(graph: Graph, node: Node) -> Tier:
    assert isinstance(node, Sql)
    if not node.groups:
        return Tier("native", "Spark SQL")
    return Tier("native", "Spark SQL; what comes too late for its state Spark drops")


def _aggregate(graph: Graph, node: Node) -> Tier:
    return Tier("native", "Spark's own aggregation")


def _distinct(graph: Graph, node: Node) -> Tier:
    assert isinstance(node, Distinct)
    why = "the first in arrival order is kept" + ("" if node.within is None else "; late rows go to .late")
    return Tier("kernel", why)


def _window(graph: Graph, node: Node) -> Tier:
    assert isinstance(node, WindowAggregate)
    folded = ", ".join(str(item) for _, item in node.aggregates if isinstance(item, PythonFold))
    if folded:
        where = "Spark's own operator" if node.emission.late_rows == "count" else "the kernel"
        why = f"windows in {where}; {folded} folds in Python, through Arrow, when a pane fires"
        return Tier("arrow", why, folded)
    if node.emission.late_rows == "count":
        return Tier("native", 'Spark\'s own window: late_rows="count" lets it drop late rows')
    return Tier("kernel", "; ".join([*_kernel_reasons(node), *_sharing(graph, node)]))


def _sharing(graph: Graph, node: WindowAggregate) -> Iterator[str]:
    """What overlapping windows share: the kernel does so where each fires once and in event time."""
    window, emission = node.window, node.emission
    if not isinstance(window, Sliding) or not emission.fires_once or emission.lateness:
        return
    if window.size > window.every and not by_clock(graph, node.input):
        slices = text(gcd(window.size, window.every))
        yield f"windows share slices of {slices}, if no aggregate depends on the order of rows"


def _kernel_reasons(node: WindowAggregate) -> Iterator[str]:
    native_kind = isinstance(node.window, Tumbling | Sliding | Session)
    if not native_kind:
        yield f"Spark has no such window ({window_phrase(node.window)})"
    if not node.emission.fires_once:
        yield "Spark fires a window once"
    if node.emission.mode == "retracting":
        yield "Spark has no retractions"
    yield (
        "late rows go to .late"
        if not (native_kind and node.emission.fires_once)
        else ('late rows go to .late (native with late_rows="count")')
    )


def _match(graph: Graph, node: Node) -> Tier:
    return Tier("kernel", "Spark has no patterns")


def _match_rules(graph: Graph, node: Node) -> Tier:
    return Tier(
        "kernel", "Spark has no patterns; all rules run in one operator, what they ask of a row is asked once"
    )


def _row_pattern(graph: Graph, node: Node) -> Tier:
    return Tier("kernel", "Spark has no MATCH_RECOGNIZE; late rows go to .late")


def _sink(graph: Graph, node: Node) -> Tier:
    assert isinstance(node, Sink)
    return Tier("native", f"{node.connector.kind}'s writer, once for each epoch")


_TIERS: dict[type[Node], Callable[[Graph, Node], Tier]] = {
    Source: _source,
    EventTime: _event_time,
    Lookup: _lookup,
    Sql: _sql,
    Aggregate: _aggregate,
    RowPattern: _row_pattern,
    Distinct: _distinct,
    WindowAggregate: _window,
    Match: _match,
    MatchRules: _match_rules,
    Sink: _sink,
}
