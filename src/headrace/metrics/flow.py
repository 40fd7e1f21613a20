"""Row counts at the edges of a plan: measured, or derived for steps that emit one row per input row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.steps.base import DEAD_LETTERS, Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.rows.columns import Drop, Select, WithColumns
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.steps.rows.union import Union

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.plan.queries import Query
    from headrace.runtime.progress.status import Status

_GENERATORS = re.compile(r"\b(explode|posexplode|inline|stack|json_tuple)(_outer)?\s*\(", re.IGNORECASE)

Edges = dict[Ref, int]


def rows_at_edges(graph: Graph, queries: list[Query], status: Status) -> Edges:
    """Return the row count of each output that has one."""
    edges = _measured_edges(graph, queries, status)
    before = -1
    while before != len(edges):
        before = len(edges)
        for node in graph:
            _derive(node, edges)
    return edges


def rows_of(node: Node, edges: Mapping[Ref, int]) -> tuple[int | None, int | None]:
    """Return the rows in and out of a step; None if unknown."""
    into = [edges[ref] for ref in node.inputs if ref in edges]
    out = [edges[ref] for name in node.outputs if (ref := Ref(node.name, name)) in edges]
    rows_in = sum(into) if into and len(into) == len(node.inputs) else None
    return rows_in, sum(out) if out else None


def _measured_edges(graph: Graph, queries: list[Query], status: Status) -> Edges:
    edges: Edges = {}
    read = {query.name: query.rows_in for query in status.queries}
    for query in queries:
        if len(query.sources) == 1 and not query.reads and query.name in read:
            source = query.sources[0]
            edges.setdefault(Ref(source), read[query.name] - status.dead_letters_of.get(source, 0))
    for name, accounting in status.steps.items():
        inputs = graph[name].inputs
        if len(inputs) == 1:
            edges[inputs[0]] = accounting.rows
        if accounting.panes:
            edges[Ref(name)] = accounting.panes + accounting.retractions
    for output, rows in status.unrouted.items():
        step, _, side = output.rpartition(".")
        edges[Ref(step, side)] = rows
    for step, rows in status.dead_letters_of.items():
        if getattr(graph[step], "on_error", "") == "divert":
            edges[Ref(step, DEAD_LETTERS)] = rows
    for sink in graph.sinks:
        if sink.name in status.sinks:
            edges.setdefault(sink.input, status.sinks[sink.name])
    return edges


def _derive(node: Node, edges: Edges) -> None:
    """Derive the row count of a step's output from its input, or of its input from its output."""
    if isinstance(node, Sink) or not node.inputs:
        return
    output = Ref(node.name)
    if isinstance(node, Union) and all(ref in edges for ref in node.inputs):
        edges.setdefault(output, sum(edges[ref] for ref in node.inputs))
    elif passes_every_row(node):
        source = node.inputs[0]
        if source in edges:
            edges.setdefault(output, edges[source])
        elif output in edges:
            edges[source] = edges[output]


def passes_every_row(node: Node) -> bool:
    """True if a step emits one row for each row it reads."""
    if isinstance(node, Select | WithColumns):
        return not _GENERATORS.search(" ".join(node.description()))
    return isinstance(node, Drop | EventTime | ClockTime)
