"""The graph of a plan as SVG: sources on the left, sinks on the right, a box for each step."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from headrace.explain.svg.marks import Arrow, Curve, Mark, Rect, Text
from headrace.explain.svg.writer import Panel, render
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.steps.base import Node, Ref

_WIDTH, _HEIGHT = 168.0, 46.0
_GAP, _ROW = 44.0, 62.0
_MARGIN = 14.0
_MOST_CHARACTERS = 24


@dataclass(frozen=True)
class _Box:
    node: Node
    x: float
    y: float


def graph_svg(graph: Graph) -> str:
    """Return the picture of a plan; steps without a name are part of the edge to the next one."""
    nodes = [node for node in graph if not node.anonymous]
    inputs = {node.name: _named_inputs(graph, node) for node in nodes}
    levels = _levels(nodes, inputs)
    boxes = _place(nodes, inputs, levels)
    edges = [
        mark
        for node in nodes
        for ref in inputs[node.name]
        for mark in _edge(boxes[ref.step], boxes[node.name], ref.output)
    ]
    marks = (*edges, *(mark for box in boxes.values() for mark in _box(box)))
    width = max((box.x for box in boxes.values()), default=0.0) + _WIDTH + _MARGIN
    height = max((box.y for box in boxes.values()), default=0.0) + _HEIGHT + _MARGIN
    return render([Panel(f"graph of {graph.name}", tuple(marks), width, height)])


def graph_image(graph: Graph) -> str:
    """Return the picture as an HTML image, so that its styles do not reach the page around it."""
    picture = b64encode(graph_svg(graph).encode()).decode()
    return f'<img alt="graph of {escape(graph.name)}" src="data:image/svg+xml;base64,{picture}">'


def _named_inputs(graph: Graph, node: Node) -> list[Ref]:
    """Return the outputs of named steps that a step reads, through steps without a name."""
    refs: list[Ref] = []
    todo = list(node.inputs)
    while todo:
        ref = todo.pop(0)
        if graph[ref.step].anonymous:
            todo = [*graph[ref.step].inputs, *todo]
        elif ref not in refs:
            refs.append(ref)
    return refs


def _levels(nodes: Sequence[Node], inputs: dict[str, list[Ref]]) -> dict[str, int]:
    """Return the column of each step: one to the right of its last input; sinks that follow nothing else."""
    levels: dict[str, int] = {}
    for node in nodes:
        levels[node.name] = max((levels[ref.step] + 1 for ref in inputs[node.name]), default=0)
    return levels


def _place(nodes: Sequence[Node], inputs: dict[str, list[Ref]], levels: dict[str, int]) -> dict[str, _Box]:
    """Return the boxes: in a column, a step stands beside its inputs if that place is free."""
    boxes: dict[str, _Box] = {}
    taken: dict[int, set[int]] = {}
    rows: dict[str, int] = {}
    for node in nodes:
        level = levels[node.name]
        wanted = min((rows[ref.step] for ref in inputs[node.name]), default=0)
        used = taken.setdefault(level, set())
        row = next(number for number in range(wanted, wanted + len(nodes) + 1) if number not in used)
        used.add(row)
        rows[node.name] = row
        boxes[node.name] = _Box(node, _MARGIN + level * (_WIDTH + _GAP), _MARGIN + row * _ROW)
    return boxes


def _box(box: _Box) -> list[Mark]:
    node = box.node
    kind = "on_time pane" if isinstance(node, Sink) else "early pane" if isinstance(node, Source) else "state"
    detail = node.verb
    if isinstance(node, Source | Sink) and (connector := getattr(node, "connector", None)) is not None:
        detail = f"{'read' if isinstance(node, Source) else 'write'} · {connector.kind}"
    tip = " · ".join(part for part in (node.name, *node.description()) if part)
    return [
        Rect(box.x, box.y, _WIDTH, _HEIGHT, kind, tip),
        Text(box.x + 10, box.y + 19, _shorten(node.name), "state-name", "start", 13.0),
        Text(box.x + 10, box.y + 36, _shorten(detail), "declared", "start", 11.0),
    ]


def _edge(start: _Box, end: _Box, output: str) -> list[Mark]:
    x1, y1 = start.x + _WIDTH, start.y + _HEIGHT / 2
    x2, y2 = end.x - 8, end.y + _HEIGHT / 2
    middle = (x1 + x2) / 2
    marks: list[Mark] = [
        Curve(((x1, y1), (middle, y1), (middle, y2), (x2, y2)), "edge"),
        Arrow(end.x, y2, "right"),
    ]
    if output:
        marks.append(Text(middle, y2 - 7, output, "edge-label", "middle", 10.0))
    return marks


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"
