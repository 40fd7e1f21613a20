"""Lay out a plan as rails: rows flow down, a step is a mark on its rail, branches leave to the right.

    ◉ tx
    ├─╮ dead_letters
    │ ■ bad_records
    ○ tx:event_time
    ├─╮
    │ ○ big
    │ ■ alerts
    ● totals
    ■ totals_table

Side branches are drawn first, so that the longest path stays on the left. A step with several inputs is drawn
after the last of them.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from headrace.plan.graph import Graph
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.endpoints.sink import Sink
from headrace.steps.endpoints.source import Source

BOXES = {
    "": " ", "u": "╵", "d": "╷", "ud": "│", "lr": "─", "dr": "╭", "ur": "╰", "dl": "╮", "ul": "╯",
    "udr": "├", "udl": "┤", "dlr": "┬", "ulr": "┴", "udlr": "┼",
}  # fmt: skip
CUT = "exchange"
SOURCE, STEP, STATE, SINK = "◉", "○", "●", "■"


@dataclass(frozen=True)
class RailRow:
    """A line of the layout: the rails, and either a step or the label of a branch."""

    rails: str
    below: str
    """The rails below this line, for further lines of text about the step."""
    node: Node | None = None
    label: str = ""


@dataclass
class _Lane:
    """A rail below a step: its edges that are not drawn yet; the last one stays on the rail."""

    edges: list[tuple[Ref, Node]]


class _Layout:
    def __init__(self, graph: Graph, cuts: Set[tuple[Ref, str]]) -> None:
        self.graph = graph
        self.cuts = cuts
        self.lanes: list[_Lane | None] = []
        self.drawn = set[str]()
        self.rows: list[RailRow] = []

    def run(self) -> list[RailRow]:
        while (node := self._next()) is not None:
            self._draw(node)
        return self.rows

    def _next(self) -> Node | None:
        for lane in reversed(self.lanes):
            for _, consumer in lane.edges if lane else []:
                if self._is_ready(consumer):
                    return consumer
        return next(
            (node for node in self.graph if node.name not in self.drawn and self._is_ready(node)), None
        )

    def _is_ready(self, node: Node) -> bool:
        return all(ref.step in self.drawn for ref in node.inputs)

    def _draw(self, node: Node) -> None:
        column = self._join_inputs(node)
        self.drawn.add(node.name)
        lane = _Lane(self._edges(node))
        self.lanes[column] = lane if lane.edges else None
        self.rows.append(RailRow(self._rails(column, mark_of(node)), self._rails(), node))

    def _edges(self, node: Node) -> list[tuple[Ref, Node]]:
        edges = [
            (Ref(node.name, out), consumer)
            for out in node.outputs
            for consumer in self.graph.consumers[Ref(node.name, out)]
        ]
        return sorted(
            edges,
            key=lambda edge: (edge[0].output in (MAIN, node.outputs[0]), self._count_downstream(edge[1])),
        )

    def _count_downstream(self, node: Node) -> int:
        """Return the number of steps downstream; the longest path stays on the rail."""
        return sum(node in self.graph.upstream(other) for other in self.graph)

    def _join_inputs(self, node: Node) -> int:
        """Join the rails of the inputs of a step; return the column of the step."""
        taken = {
            column: [edge for edge in lane.edges if edge[1] is node] for column, lane in self._open_lanes()
        }
        taken = {column: edges for column, edges in taken.items() if edges}
        if not taken:
            if self.rows and not self._open_lanes():
                self.rows.append(RailRow("", ""))
            return self._free_column(-1)
        above = dict(self._open_lanes())
        ending = [column for column, edges in taken.items() if len(edges) == len(above[column].edges)]
        labels = [label for edges in taken.values() for edge in edges for label in self._labels(edge)]
        for column, edges in taken.items():
            above[column].edges = [edge for edge in above[column].edges if edge not in edges]
        for column in ending:
            self.lanes[column] = None
        at = ending[0] if ending else self._free_column(max(taken))
        self.lanes[at] = _Lane([])
        if labels or set(taken) != {at}:
            self._join(set(above), {*taken, at}, ", ".join(labels))
        return at

    def _labels(self, edge: tuple[Ref, Node]) -> list[str]:
        ref, node = edge
        return [
            *([f".{ref.output}"] if ref.output else []),
            *([CUT] if (ref, node.name) in self.cuts else []),
        ]

    def _join(self, above: set[int], joined: set[int], label: str) -> None:
        below = {column for column, _ in self._open_lanes()}
        first, last = min(joined), max(joined)
        cells = []
        for column in range(max(above | below) + 1):
            ends = column in joined or not first < column < last
            way = ("u" if column in above else "") + ("d" if column in below else "")
            left, right = first < column <= last, first <= column < last
            if way and not ends:
                left = False  # a rail that is only crossed is not interrupted
            cells.append(BOXES[way + ("l" if left else "") + ("r" if right and (ends or not way) else "")])
            cells.append("─" if right else " ")
        shown = "".join(cells).rstrip()
        if CUT in label:
            shown = (
                shown[: 2 * last] + {"│": "╎"}.get(shown[2 * last], shown[2 * last]) + shown[2 * last + 1 :]
            )
        self.rows.append(RailRow(shown, self._rails(), None, label))

    def _open_lanes(self) -> list[tuple[int, _Lane]]:
        return [(column, lane) for column, lane in enumerate(self.lanes) if lane is not None]

    def _free_column(self, after: int) -> int:
        for column in range(after + 1, len(self.lanes)):
            if self.lanes[column] is None:
                return column
        self.lanes.append(None)
        return len(self.lanes) - 1

    def _rails(self, marked: int = -1, mark: str = "") -> str:
        cells = [
            mark if column == marked else "│" if lane is not None else " "
            for column, lane in enumerate(self.lanes)
        ]
        return " ".join(cells).rstrip()


def rails(graph: Graph, cuts: Set[tuple[Ref, str]] = frozenset()) -> list[RailRow]:
    """Return the lines of the layout of a checked plan, from top to bottom.

    Args:
        graph: the plan.
        cuts: the edges, as (output, reading step), that go through an exchange.
    """
    return _Layout(graph, cuts).run()


def mark_of(node: Node) -> str:
    """Return the mark of a step: source, stateless, stateful or sink."""
    if isinstance(node, Sink):
        return SINK
    if isinstance(node, Source) or not node.inputs:
        return SOURCE
    return STATE if node.stateful else STEP
