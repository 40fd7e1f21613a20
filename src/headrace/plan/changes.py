"""Windows that fire more than once, whose panes are a changelog for the stateful steps that read them."""

from __future__ import annotations

from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.windows.declare import WindowAggregate


def are_panes(graph: Graph, ref: Ref) -> bool:
    """Return True if rows are panes of windows, directly or through steps that keep labels of retractions."""
    node = graph[ref.step]
    if node.emits_panes:
        return ref.output == MAIN
    return node.keeps_labels and all(are_panes(graph, before) for before in node.inputs)


def feeds_changes(graph: Graph, node: WindowAggregate) -> bool:
    """Return True if a stateful step reads panes in accumulating mode, for which it needs retractions."""
    emission = node.emission
    if emission.fires_once or emission.mode != "accumulating" or node.native:
        return False
    return _has_stateful_reader(graph, node)


def _has_stateful_reader(graph: Graph, node: Node) -> bool:
    return any(
        reader.stateful or (reader.keeps_labels and _has_stateful_reader(graph, reader))
        for reader in graph.consumers[Ref(node.name)]
    )
