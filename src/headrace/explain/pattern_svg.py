"""State diagrams of patterns as SVG: steps in a row, edges that skip steps above, edges back below."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

from headrace.explain.pattern_diagram import END, START, Diagram, Edge, State
from headrace.explain.svg.marks import Arrow, Curve, Dot, Mark, Path, Rect, Text, width_of
from headrace.explain.svg.writer import Panel, render

_SIDE, _CHARACTER, _LABEL, _LINE = 30, 6.7, 6.1, 15
_LEVEL, _ABOVE, _TITLE, _BELOW = 34, 30, 26, 24
_CONDITION, _EDGE = 36, 30
"""Maximum number of characters in a line of a condition and of an edge label."""
_SMALL = 11.0
_BREAK = re.compile(r" (?=(?:and|or) )", re.IGNORECASE)
_NEXT = re.compile(r"(?<=,) (?=not |followed by|next|within |rows less )")


def svg_of(diagrams: Sequence[Diagram]) -> str:
    """Return the diagrams as one picture, one below the other.

    >>> from headrace import patterns
    >>> from headrace.steps.base import Ref
    >>> from headrace.steps.patterns.match import Match
    >>> from headrace.explain.pattern_diagram import diagram_of
    >>> svg_of([diagram_of(Match("m", Ref("tx"), (), patterns.step("a", "x = 1").next("b", "x = 2")))])[:5]
    '<svg '
    """
    return render([_Layout(diagram).panel() for diagram in diagrams])


class _Layout:
    """The positions of one diagram."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.order = [START, *(state.name for state in diagram.states), END]
        self.conditions = {state.name: _condition_lines(state) for state in diagram.states}
        self.box = 29 + _LINE * max((len(lines) for lines in self.conditions.values()), default=1)
        self.spans = dict(self._spans())
        straight = max(
            (len(_label_lines(edge)) for edge in diagram.edges if self._is_straight(edge)), default=1
        )
        above = max((self._level(edge) for edge in diagram.edges if self._is_forward(edge)), default=0)
        below = max(
            (1 + self._level(edge) for edge in diagram.edges if not self._is_forward(edge)), default=0
        )
        self.middle = _TITLE + _ABOVE + max(above * _LEVEL, straight * _LINE - self.box / 2) + self.box / 2
        self.height = self.middle + self.box / 2 + below * _LEVEL + _BELOW
        title = len(diagram.name) * 9.0 + (len(diagram.limit) + 3) * _LABEL
        self.width = max(self.spans[END][1], _SIDE + title) + _SIDE

    def panel(self) -> Panel:
        return Panel(self.diagram.name, tuple(self._marks()), self.width, self.height)

    def _marks(self) -> Iterator[Mark]:
        yield Text(_SIDE, _TITLE, self.diagram.name, "title", size=14)
        if self.diagram.limit:
            yield Text(_SIDE + width_of(self.diagram.name, 14) + 16, _TITLE, self.diagram.limit, "faint")
        for edge in self.diagram.edges:
            yield from self._edge(edge)
        for state in self.diagram.states:
            yield from self._state(state)
        start, end = (sum(self.spans[name]) / 2 for name in (START, END))
        yield Dot(start, self.middle, "terminal", radius=6)
        yield Dot(end, self.middle, "ring", radius=9)
        yield Dot(end, self.middle, "terminal", radius=5)

    def _state(self, state: State) -> Iterator[Mark]:
        left, right = self.spans[state.name]
        lines, center = self.conditions[state.name], (left + right) / 2
        yield Rect(left, self.middle - self.box / 2, right - left, self.box, "state")
        first = self.middle - (len(lines) + 1) * _LINE / 2 + 12
        yield Text(center, first, state.name, "state-name", "middle")
        kind = "condition" if state.condition else "any-row"
        for number, line in enumerate(lines, 1):
            yield Text(center, first + 1 + number * _LINE, line, kind, "middle", _SMALL)

    def _spans(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield the left and right side of each state; gaps are as wide as the label of their edge."""
        left = float(_SIDE)
        for name, after in zip(self.order, [*self.order[1:], ""], strict=True):
            longest = max((len(line) for line in self.conditions.get(name, ())), default=0)
            wide = max(len(name) * 8, longest * _CHARACTER) + 20
            width = 18.0 if name in (START, END) else wide
            yield name, (left, left + width)
            edges = (edge for edge in self.diagram.edges if (edge.source, edge.target) == (name, after))
            label = max((len(line) for edge in edges for line in _label_lines(edge)), default=0)
            left += width + max(60.0, 34 + label * _LABEL)

    def _is_forward(self, edge: Edge) -> bool:
        return self.order.index(edge.target) > self.order.index(edge.source)

    def _is_straight(self, edge: Edge) -> bool:
        return self._is_forward(edge) and self._level(edge) == 0

    def _level(self, edge: Edge) -> int:
        """Return the number of states that the edge passes."""
        distance = self.order.index(edge.target) - self.order.index(edge.source)
        return distance - 1 if distance > 0 else -distance

    def _half(self, name: str) -> float:
        """Return half of the height of a state."""
        return {START: 8.0, END: 11.0}.get(name, self.box / 2)

    def _edge(self, edge: Edge) -> Iterator[Mark]:
        (_, from_right), (to_left, _) = self.spans[edge.source], self.spans[edge.target]
        if not self._is_straight(edge):
            yield from self._curve(edge)
            return
        yield Path(((from_right, self.middle), (to_left - 7, self.middle)), "edge")
        yield Arrow(to_left, self.middle, "right")
        yield from self._label((from_right + to_left) / 2, self.middle - 7, edge)

    def _curve(self, edge: Edge) -> Iterator[Mark]:
        source, target = (sum(self.spans[name]) / 2 for name in (edge.source, edge.target))
        side = -1 if self._is_forward(edge) else 1
        far = self.middle + side * (self.box / 2 + (self._level(edge) + (side + 1) / 2) * _LEVEL)
        begins, ends = (self.middle + side * self._half(name) for name in (edge.source, edge.target))
        shift = 14 if edge.source == edge.target else 0
        source, target = source + shift, target - shift
        yield Curve(((source, begins), (source, far), (target, far), (target, ends + side * 7)), "edge")
        direction: Literal["down", "up"] = "down" if side < 0 else "up"
        yield Arrow(target, ends, direction)
        peak = (begins + ends) / 2 * 0.25 + far * 0.75  # the curve at half of its length
        yield from self._label(
            (source + target) / 2, peak - 5 if side < 0 else peak + 12, edge, down=side > 0
        )

    def _label(self, x: float, y: float, edge: Edge, *, down: bool = False) -> Iterator[Mark]:
        """Yield the lines of an edge label: the last one at `y`, or the first one if they go down."""
        lines = _label_lines(edge)
        for number, line in enumerate(lines):
            offset = number if down else number - len(lines) + 1
            yield Text(x, y + offset * (_LINE - 1), line, "edge-label", "middle", _SMALL)


def _condition_lines(state: State) -> list[str]:
    """Break a long condition before `and` and `or`, and inside parts that are too long."""
    if not state.condition:
        return ["any row"]
    whole = " ".join(state.condition.split())
    return [whole] if len(whole) <= _CONDITION else _wrap(_BREAK.split(whole), _CONDITION)


def _label_lines(edge: Edge) -> list[str]:
    """Break a long label between its constraints."""
    if len(edge.label) <= _EDGE:
        return [edge.label] if edge.label else []
    return _wrap(_NEXT.split(edge.label), _EDGE)


def _wrap(parts: Sequence[str], width: int) -> list[str]:
    return [
        line
        for part in parts
        for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
    ]
