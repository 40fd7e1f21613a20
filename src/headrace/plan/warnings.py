"""What can be run as written, and may still surprise: told by `check`, `explain` and `run`, and never an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.errors import Problem
from headrace.plan.graph import Graph
from headrace.plan.pattern_rules import grows, rowless
from headrace.sql.match_recognize.pattern import is_unbounded
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.window import WindowAggregate
from headrace.triggers import AfterWatermark, parts_of
from headrace.windows import Session

Rule = Callable[[Graph, Node], Iterator[tuple[str, str]]]


def warnings_of(graph: Graph) -> list[Problem]:
    """Everything worth a second look, in the order of the steps. The plan must have been checked.

    >>> from headrace import Pipeline, connect
    >>> pipeline = Pipeline("p")
    >>> _ = pipeline.read("tx", connect.memory(), schema="v int").where("v > 1", name="big")
    >>> [warning.what for warning in warnings_of(pipeline.check())]
    ['nothing reads it, so it will not run']
    """
    return [
        Problem(graph.where(node), what, hint)
        for node in graph
        for warning in _RULES
        for what, hint in warning(graph, node)
    ]


def _unread(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, Sink) and not any(graph.consumers[Ref(node.name, out)] for out in node.outputs):
        yield "nothing reads it, so it will not run", "end it with write(...), or remove it"


def _dropping_sql(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Sql) and node.groups:
        yield (
            "Spark drops rows that come too late for this query's state, and says only how many",
            "window(...).aggregate(...) sends them to .late",
        )


def _endless_match(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, RowPattern) and node.clause.within is None and is_unbounded(node.clause.pattern):
        yield (
            "a match may go on for ever, and its rows are kept until it ends",
            "add WITHIN INTERVAL '1' HOUR behind PATTERN, or give the repeats a most: A{1,100}",
        )


def _moving_bounds(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if (
        not isinstance(node, WindowAggregate)
        or node.emission.fires_once
        or node.emission.mode == "retracting"
    ):
        return
    if isinstance(node.window, Session):
        told = "a session that is swallowed by a longer one stays in `{}`"
    elif node.window.order_dependent:
        told = "a window ends where its last row is, so that each early pane has a `window` of its own and stays in `{}`"
    else:
        return
    for sink in graph.sinks:
        by_window = node in graph.upstream(sink) and "window" in (getattr(sink.connector, "key", None) or ())
        if by_window and sink.input.output != "late":
            yield told.format(sink.name), 'mode="retracting" removes it'


def _late_in_order(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if not isinstance(node, WindowAggregate) or not node.window.order_dependent:
        return
    if any(
        isinstance(part, AfterWatermark) and part.late is not None for part in parts_of(node.emission.trigger)
    ):
        yield (
            f"{type(node.window).__name__.lower()} windows take rows in order, so the late part of the trigger never fires",
            "leave it out; late rows are in .late",
        )


def _growing_pattern(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Match) and (found := grows(node)):
        yield found


def _rowless_step(graph: Graph, node: Node) -> Iterator[tuple[str, str]]:
    if isinstance(node, Match):
        yield from rowless(node)


_RULES: tuple[Rule, ...] = (
    _unread,
    _dropping_sql,
    _endless_match,
    _moving_bounds,
    _late_in_order,
    _growing_pattern,
    _rowless_step,
)
