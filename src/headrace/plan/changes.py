"""Panes that fire more than once, as changes for the stateful steps that read them."""

from __future__ import annotations

from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.rows.columns import Drop, Select, Where, WithColumns
from headrace.steps.rows.union import Union
from headrace.steps.stateful.window import WindowAggregate

_KEEPS_LABELS = (Where, Select, WithColumns, Drop, Union)


def are_panes(graph: Graph, ref: Ref) -> bool:
    """Return True if rows are panes of windows, perhaps through steps that keep the labels of retractions."""
    node = graph[ref.step]
    if isinstance(node, WindowAggregate):
        return ref.output == MAIN
    return isinstance(node, _KEEPS_LABELS) and all(are_panes(graph, before) for before in node.inputs)


def feeds_changes(graph: Graph, node: WindowAggregate) -> bool:
    """Return True if a stateful step reads panes in accumulating mode, which are then retracted for it."""
    emission = node.emission
    if emission.fires_once or emission.mode != "accumulating" or node.native:
        return False
    return _is_read_by_state(graph, node)


def _is_read_by_state(graph: Graph, node: Node) -> bool:
    readers = graph.consumers[Ref(node.name)]
    return any(
        reader.stateful or (isinstance(reader, _KEEPS_LABELS) and _is_read_by_state(graph, reader))
        for reader in readers
    )
