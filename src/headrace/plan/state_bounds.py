"""How much a step remembers: what is kept, of what, for how long, and what has no bound.

The state of a window is bounded by time. What is kept for each key until that key's next row comes grows with the number
of keys ever seen; an aggregate that keeps its rows grows with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from headrace.durations import text
from headrace.plan.graph import Graph
from headrace.sql.match_recognize.pattern import is_unbounded
from headrace.steps.base import Node
from headrace.steps.expressions import Named, PythonFold
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import EventTime
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.windows import Global, Landmark, Session, Sliding, Trailing, Tumbling

_GROWING = re.compile(
    r"\b(collect_list|collect_set|array_agg|listagg|string_agg|percentile|percentile_cont|percentile_disc|median|mode|"
    r"histogram_numeric)\s*\(|\bdistinct\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StateBound:
    """What a step remembers between batches."""

    kept: str
    """What, and how long."""
    grows: str = ""
    """With what it grows without a bound; empty where it has one."""
    hint: str = ""
    """How to give it a bound."""

    def __str__(self) -> str:
        grows = f"; no bound: grows with {self.grows}" if self.grows else ""
        return f"{self.kept}{grows}{f' ({self.hint})' if self.hint else ''}"


def bound_of(graph: Graph, node: Node) -> StateBound | None:
    """What a step remembers; None where it remembers nothing."""
    return _BOUNDS[type(node)](graph, node) if type(node) in _BOUNDS and node.stateful else None


def _aggregate(graph: Graph, node: Node) -> StateBound:
    assert isinstance(node, Aggregate)
    if not node.keys:
        return _with_rows(StateBound("one row"), node.aggregates)
    keys = _key(node)
    found = StateBound(
        f"one row for each {keys}, never forgotten",
        f"the number of {keys}",
        "use a window, or window(windows.global_window(), ttl=...) to expire idle ones",
    )
    return _with_rows(found, node.aggregates)


def _distinct(graph: Graph, node: Node) -> StateBound:
    assert isinstance(node, Distinct)
    on = ", ".join(node.on)
    if node.within is None:
        return StateBound(
            f"one entry for each {on}, never forgotten", f"the number of {on}", "within= forgets"
        )
    length = text(2 * node.within + _out_of_order(graph, node))
    return StateBound(f"one entry for each {on}, for {length}")


def _match(graph: Graph, node: Node) -> StateBound:
    assert isinstance(node, Match)
    each = f" of each {_key(node)}" if node.keys else ""
    behind = _out_of_order(graph, node)
    waits = f", and rows up to {text(behind)} behind" if behind and node.order != "arrival" else ""
    if within := node.within.whole or node.within.between:
        return StateBound(f"partial matches{each}, kept {text(within)}{waits}")
    return StateBound(
        f"partial matches{each}, never forgotten{waits}", "the rows that may begin one", "within= forgets"
    )


def _match_rules(graph: Graph, node: Node) -> StateBound:
    assert isinstance(node, MatchRules)
    each = f" of each {_key(node)}" if node.keys else ""
    behind = _out_of_order(graph, node)
    waits = f", and rows up to {text(behind)} behind" if behind and node.order != "arrival" else ""
    most = f", {text(node.longest)} at most" if node.longest else ""
    return StateBound(f"partial matches{each}, kept as long as their rule says{most}{waits}")


def _row_pattern(graph: Graph, node: Node) -> StateBound:
    assert isinstance(node, RowPattern)
    clause, behind = node.clause, _out_of_order(graph, node)
    each = f" of each {', '.join(clause.partition_by)}" if clause.partition_by else ""
    waits = f", and rows up to {text(behind)} behind" if behind else ""
    kept = f"the rows{each} of the match that is open"
    if clause.within is None and is_unbounded(clause.pattern):
        return StateBound(kept + waits, "the rows of a match that doesn't end", "WITHIN ends it")
    if clause.within is not None:
        kept = f"{kept}, for {text(clause.within)}"
    if clause.partition_by and clause.remembers_partitions:
        keys = ", ".join(clause.partition_by)
        return StateBound(f"{kept}{waits}, and a few bytes of each {keys}", f"the number of {keys}")
    return StateBound(kept + waits)


def _sql(graph: Graph, node: Node) -> StateBound:
    return StateBound("whatever Spark's operators keep")


def _window(graph: Graph, node: Node) -> StateBound:
    assert isinstance(node, WindowAggregate)
    return _with_rows(_bounds_of_window(graph, node), node.aggregates)


def _bounds_of_window(graph: Graph, node: WindowAggregate) -> StateBound:
    each = f" of each {_key(node)}" if node.keys else ""
    behind = _out_of_order(graph, node) + node.emission.lateness
    match node.window:
        case Global():
            return _of_keys(node, f"one window{each}, never forgotten")
        case Trailing(size):
            return StateBound(f"the rows{each} of the last {text(size + behind)}")
        case Session(gap):
            return StateBound(f"open sessions{each}, kept {text(gap + behind)} from their last row")
        case Tumbling(size) | Sliding(size):
            return StateBound(f"open windows{each}, kept {text(size + behind)} from their start")
    waits = f", and rows up to {text(behind)} behind" if behind else ""
    return _of_keys(node, f"the open window{each}{_until(node)}{waits}")


def _until(node: WindowAggregate) -> str:
    if isinstance(node.window, Landmark) and node.window.reset:
        return ", and its number"
    return ", until the row that closes it comes"


def _of_keys(node: WindowAggregate, kept: str) -> StateBound:
    """What stays for every key that was ever seen, if there are keys and nothing makes it forget them."""
    if node.ttl is not None:
        return StateBound(
            f"{kept.removesuffix(', never forgotten')}, forgotten {text(node.ttl)} after its last row"
        )
    if not node.keys:
        return StateBound(kept)
    return StateBound(kept, f"the number of {_key(node)}", "window(..., ttl=...) expires idle ones")


def _with_rows(bound: StateBound, aggregates: Named) -> StateBound:
    """Some aggregates keep the rows themselves."""
    for _, item in aggregates:
        if isinstance(item, PythonFold):
            return replace(bound, kept=f"{bound.kept}; {item} keeps its arguments of every row in it")
    found = [match for _, item in aggregates if isinstance(item, str) and (match := _GROWING.search(item))]
    if not found:
        return bound
    word = (found[0].group(1) or "distinct").lower()
    return replace(bound, kept=f"{bound.kept}; {word} keeps values of every row in it")


def _out_of_order(graph: Graph, node: Node) -> int:
    return sum(step.out_of_order for step in graph.upstream(node) if isinstance(step, EventTime))


def _key(node: Aggregate | Match | MatchRules | WindowAggregate) -> str:
    return ", ".join(name for name, _ in node.keys)


_BOUNDS: dict[type[Node], Callable[[Graph, Node], StateBound]] = {
    Aggregate: _aggregate,
    Distinct: _distinct,
    Match: _match,
    MatchRules: _match_rules,
    RowPattern: _row_pattern,
    Sql: _sql,
    WindowAggregate: _window,
}
