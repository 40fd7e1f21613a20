"""Explain a plan before it runs: execution tier and state bound of each step, queries, guarantees.

`text.drawing` and `mermaid.mermaid` format an explanation; `as_json` returns it as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, get_args

from headrace.connectors.base import Guarantee
from headrace.plan.graph import Graph
from headrace.plan.guarantees import SinkGuarantee, sink_guarantees
from headrace.plan.queries import Query, queries_of
from headrace.plan.realtime import real_time_of
from headrace.plan.types import ColumnTypes
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source
from headrace.steps.rows.event_time import EventTime
from headrace.steps.traits import RealTime, StateBound, Tier
from headrace.steps.unrouted import describe_unrouted, list_unrouted


@dataclass(frozen=True)
class Step:
    """A step: its description, its execution tier, and the numbers of its queries, from 1."""

    name: str
    verb: str
    facts: tuple[str, ...]
    tier: Tier
    queries: tuple[int, ...]
    place: str
    state: StateBound | None
    """The state that it stores, and the bound of its size."""
    real_time: RealTime


@dataclass(frozen=True)
class Explanation:
    """The explanation of a plan."""

    graph: Graph
    steps: dict[str, Step]
    queries: tuple[Query, ...]
    sink_guarantees: tuple[SinkGuarantee, ...]
    """The guarantee of each sink, in plan order."""

    @cached_property
    def types(self) -> ColumnTypes:
        """The types of the columns, as far as they are known without Spark."""
        return ColumnTypes(self.graph)

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def guarantee(self) -> Guarantee:
        """Return the delivery guarantee of the whole pipeline: that of its weakest sink."""
        order: tuple[Guarantee, ...] = get_args(Guarantee)
        guarantees = (each.guarantee for each in self.sink_guarantees)
        return min(guarantees, key=order.index, default="exactly_once")

    @property
    def cuts(self) -> frozenset[tuple[Ref, str]]:
        """The edges, as (output, reading step), that go through an exchange."""
        exchanges = {ref for query in self.queries for ref in query.writes}
        return frozenset(
            (ref, node.name)
            for node in self.graph
            for ref in node.inputs
            if ref in exchanges and not set(self.steps[ref.step].queries) & set(self.steps[node.name].queries)
        )


def explain(graph: Graph) -> Explanation:
    """Explain a plan that has been checked."""
    queries = tuple(queries_of(graph))
    steps_by_query = [steps_of(graph, query) for query in queries]
    steps = {}
    for node in graph:
        tier = node.tier(graph)
        unrouted = map(describe_unrouted, list_unrouted(graph, node))
        steps[node.name] = Step(
            node.name,
            node.verb,
            (*filter(None, node.description()), *_describe_watermark(graph, node), *unrouted),
            tier,
            tuple(number for number, names in enumerate(steps_by_query, 1) if node.name in names),
            graph.places.get(node.name, ""),
            node.state_bound(graph),
            real_time_of(graph, node, queries, python=tier.python),
        )
    return Explanation(graph, steps, queries, tuple(sink_guarantees(graph)))


def _describe_watermark(graph: Graph, node: Node) -> Iterator[str]:
    sources = [each for each in graph.upstream(node) if isinstance(each, Source)]
    if isinstance(node, EventTime) and any(each.connector.has_partitions for each in sources):
        yield "the slowest partition determines the watermark"


def steps_of(graph: Graph, query: Query) -> list[str]:
    """Return the steps that run in a query, in plan order."""
    exchanges = {ref.step for ref in query.reads}
    todo = [query.output.step, *query.sinks]
    reached = set[str]()
    while todo:
        name = todo.pop()
        if name not in reached and not (name in exchanges and name != query.output.step):
            reached.add(name)
            todo += [ref.step for ref in graph[name].inputs]
    return [node.name for node in graph if node.name in reached]


def as_json(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as plain data; its keys are part of the public interface (`--json`)."""
    return {
        "pipeline": explanation.name,
        "guarantee": explanation.guarantee,
        "steps": [_step(explanation, node) for node in explanation.graph],
        "queries": [_query(explanation, query) for query in explanation.queries],
        "delivery": [asdict(each) for each in explanation.sink_guarantees],
    }


def _step(explanation: Explanation, node: Node) -> dict[str, Any]:
    step = explanation.steps[node.name]
    return {
        "name": node.name,
        "verb": node.verb,
        "kind": "source" if not node.inputs else "sink" if isinstance(node, Sink) else "step",
        "inputs": [str(ref) for ref in node.inputs],
        "outputs": [out or "main" for out in node.outputs],
        "columns": {out or "main": _columns(explanation, Ref(node.name, out)) for out in node.outputs},
        "stateful": node.stateful,
        "facts": list(step.facts),
        "tier": step.tier.name,
        "why": step.tier.why,
        "state": step.state.kept if step.state else "",
        "unbounded": step.state.grows if step.state else "",
        "real_time": {"able": step.real_time.able, **asdict(step.real_time)},
        "queries": list(step.queries),
        "place": step.place,
    }


def _columns(explanation: Explanation, ref: Ref) -> list[str]:
    """Return the columns of an output with their types; only names where Spark has to derive the types."""
    types = explanation.types.of(ref)
    names = explanation.graph.facts(ref).columns or ()
    return [f"{name} {types.get(name.lower(), '').lower()}".strip() for name in names]


def _query(explanation: Explanation, query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "sources": list(query.sources),
        "steps": steps_of(explanation.graph, query),
        "stateful": explanation.graph[query.output.step].stateful,
        "sinks": list(query.sinks),
        "reads": [str(ref) for ref in query.reads],
        "writes": [str(ref) for ref in query.writes],
        "dead_letters_of": list(query.dead_letters_of),
    }
