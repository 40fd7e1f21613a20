"""Whether Spark's real-time mode could take a step, and what would be different there.

Real-time mode keeps tasks running and hands rows from one to the next as they come: milliseconds instead of a micro-batch.
It takes Kafka in and out, no Python, no `foreachBatch`, and update mode only. The kernel's operators run in it as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.plan.facts import by_clock
from headrace.plan.graph import Graph
from headrace.plan.queries import Query
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import FrameSource, Source
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.patterns.match_rules import MatchRules
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.sql import Sql
from headrace.steps.stateful.aggregate import Aggregate
from headrace.steps.stateful.distinct import Distinct
from headrace.steps.stateful.window import WindowAggregate
from headrace.triggers import asks_clock

KAFKA = "kafka"


@dataclass(frozen=True)
class RealTime:
    """One step in real-time mode: what keeps it out (nothing: it could run there), and what would be different."""

    blocked: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    @property
    def able(self) -> bool:
        return not self.blocked


def real_time_of(graph: Graph, node: Node, queries: tuple[Query, ...], *, python: str = "") -> RealTime:
    """What real-time mode would say to a step.

    Args:
        graph: the plan.
        node: the step.
        queries: those the plan is cut into.
        python: what of the step runs in Python, if anything.
    """
    said = [*_SAID.get(type(node), _nothing)(graph, node), *_cuts(graph, node, queries)]
    if python:
        said.append((f"{python} runs in Python; real-time mode takes none", ""))
    return RealTime(tuple(text for text, _ in said if text), tuple(text for _, text in said if text))


Said = Iterator[tuple[str, str]]
"""Pairs of what blocks a step and what differs; one of the two is empty."""


def _nothing(graph: Graph, node: Node) -> Said:
    yield from ()


def _source(graph: Graph, node: Node) -> Said:
    assert isinstance(node, Source)
    if node.connector.kind != KAFKA:
        yield f"{node.connector.kind} is read in micro-batches; real-time mode reads Kafka only", ""
    if node.on_error == "divert" and "dead_letters" in node.outputs:
        hint = 'on_error="skip" or "fail"'
        yield f"its dead letters are written at the end of a micro-batch ({hint} has none)", ""
    yield "", "where a batch ends rows wait until the next has begun, some tenths of a second"


def _frame(graph: Graph, node: Node) -> Said:
    yield "only Spark can tell what a DataFrame from outside holds", ""


def _event_time(graph: Graph, node: Node) -> Said:
    assert isinstance(node, EventTime)
    if node.idle is not None:
        yield "idle needs heartbeats, which there only a Kafka topic could bring", ""
    yield "", "the watermark moves once per real-time batch, so long batches delay on-time panes"


def _clock_time(graph: Graph, node: Node) -> Said:
    yield "a clock's watermark needs heartbeats, which there only a Kafka topic could bring", ""


def _window(graph: Graph, node: Node) -> Said:
    assert isinstance(node, WindowAggregate)
    if node.emission.late_rows == "count":
        yield (
            "Spark's own windows give final results in append mode; real-time mode has update only "
            '(the kernel could: leave late_rows="count" out)',
            "",
        )
        return
    if not graph.consumers[Ref(node.name, "late")]:
        yield "late rows that no sink takes are kept in files; write .late to a Kafka topic", ""
    yield "", "triggers are asked after each row, not after each batch"
    if asks_clock(node.emission.trigger) or by_clock(graph, node.input):
        yield "", "timers fire on the next row of their task, or at the batch's end"
    if node.window.order_dependent:
        yield from _arrival(graph, node)


def _kept(graph: Graph, node: Node) -> Said:
    """A step in the order of arrival, whose other outputs would have nowhere to go."""
    for output, rows in (("late", "late rows"), ("timeouts", "timeouts")):
        if output in node.outputs and not graph.consumers[Ref(node.name, output)]:
            yield f"{rows} that no sink takes are kept in files; write .{output} to a Kafka topic", ""
    yield from _arrival(graph, node)


def _match_rules(graph: Graph, node: Node) -> Said:
    yield "rules are read where a micro-batch begins, and a real-time batch has no end", ""
    yield from _kept(graph, node)


def _arrival(graph: Graph, node: Node) -> Said:
    yield "", "a replay after a failure may bring rows in another order of arrival"


def _sql(graph: Graph, node: Node) -> Said:
    assert isinstance(node, Sql)
    if node.groups:
        yield "", "Spark must be able to run the query in update mode"


def _sink(graph: Graph, node: Node) -> Said:
    assert isinstance(node, Sink)
    if node.connector.kind != KAFKA:
        yield f"{node.connector.kind} is written with foreachBatch; real-time mode writes to Kafka only", ""
    tip = next((step for step in reversed(graph.upstream(node)) if step.stateful), None)
    if tip is not None and node.input.step != tip.name:
        yield (
            f"a step stands between `{tip.name}`, which has state, and its sink "
            f"(write `{tip.name}` itself, and do the rest where it is read)",
            "",
        )
    if node.mode == "complete":
        yield "real-time mode has update mode only, and this sink wants complete", ""
    yield "", "at least once: exactly once is refused unless the reader removes duplicates"


def _cuts(graph: Graph, node: Node, queries: tuple[Query, ...]) -> Said:
    """What a query's shape forbids: a log between two queries, and branches; a Kafka topic for each output is none."""
    for query in queries:
        if query.output.step != node.name:
            continue
        if query.reads:
            logs = ", ".join(map(str, query.reads))
            yield f"it reads the exchange of {logs}, which is files", ""
        if query.writes:
            yield (
                "another query reads its rows through an exchange, which is written with foreachBatch",
                "",
            )
        for output in node.outputs:
            ways = [way for way in _ways_out(graph, Ref(node.name, output)) if way in query.sinks]
            if len(ways) > 1:
                names = ", ".join(ways)
                yield f"its rows go several ways ({names}); real-time mode takes a chain without branches", ""


def _ways_out(graph: Graph, ref: Ref) -> list[str]:
    """The sinks that rows of an output come to without passing a step with state."""
    found: list[str] = []
    for step in graph.consumers[ref]:
        ends = isinstance(step, Sink) or step.stateful
        found += (
            [step.name]
            if ends
            else [way for out in step.outputs for way in _ways_out(graph, Ref(step.name, out))]
        )
    return list(dict.fromkeys(found))


_SAID: dict[type[Node], Callable[[Graph, Node], Said]] = {
    Source: _source,
    FrameSource: _frame,
    EventTime: _event_time,
    ClockTime: _clock_time,
    WindowAggregate: _window,
    Distinct: _kept,
    Match: _kept,
    MatchRules: _match_rules,
    RowPattern: _kept,
    Aggregate: _nothing,
    Sql: _sql,
    Sink: _sink,
}
