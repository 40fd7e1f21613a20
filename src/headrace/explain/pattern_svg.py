"""State diagrams of patterns as SVG: steps in a row, ways past a step above them, ways back below."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from headrace.explain.pattern_diagram import END, START, Diagram, Edge, State

_SIDE, _CHARACTER, _LABEL, _LINE = 30, 6.7, 6.1, 15
_LEVEL, _ABOVE, _TITLE, _BELOW = 34, 30, 26, 24
_CONDITION, _SAID = 36, 30
"""How many characters a line of a condition, or of what stands on an edge, may have."""
_BROKEN = re.compile(r" (?=(?:and|or) )", re.IGNORECASE)
_NEXT = re.compile(r"(?<=,) (?=not |followed by|next|within |rows less )")
_STYLE = """
    text { font: 12px sans-serif; fill: #1f2933 } .name { font-weight: bold } .title { font: bold 14px sans-serif }
    .limit { font: 12px sans-serif; fill: #52606d } .label { font: 11px sans-serif; fill: #2b6cb0 }
    .says { font: 11px monospace; fill: #52606d; white-space: pre } .any { font: italic 11px sans-serif; fill: #52606d }
    rect { fill: #ebf4ff; stroke: #2b6cb0; stroke-width: 1.5 } path { fill: none; stroke: #52606d; stroke-width: 1.3 }
    .dot { fill: #1f2933 } .ring { fill: none; stroke: #1f2933; stroke-width: 1.3 } .tip { fill: #52606d; stroke: none }
"""


def svg_of(diagrams: Sequence[Diagram]) -> str:
    """The diagrams as one picture, one below the other.

    >>> from headrace import patterns
    >>> from headrace.steps.base import Ref
    >>> from headrace.steps.patterns.match import Match
    >>> from headrace.explain.pattern_diagram import diagram_of
    >>> svg_of([diagram_of(Match("m", Ref("tx"), (), patterns.step("a", "x = 1").next("b", "x = 2")))])[:5]
    '<svg '
    """
    panels = [_Panel(diagram) for diagram in diagrams]
    width = max(panel.width for panel in panels)
    height = sum(panel.height for panel in panels)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="max-width: 100%; height: auto">']
    lines += [
        f"  <style>{_STYLE}  </style>",
        '  <rect width="100%" height="100%" style="fill: white; stroke: none"/>',
    ]
    top = 0.0
    for panel in panels:
        lines += [f'  <g transform="translate(0 {top:.0f})">', *panel.lines(), "  </g>"]
        top += panel.height
    return "\n".join([*lines, "</svg>", ""])


class _Panel:
    """One diagram, laid out."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.order = [START, *(state.name for state in diagram.states), END]
        self.says = {state.name: _condition(state) for state in diagram.states}
        self.box = 29 + _LINE * max((len(says) for says in self.says.values()), default=1)
        self.spans = dict(self._spans())
        straight = max((len(_said(edge)) for edge in diagram.edges if self._straight(edge)), default=1)
        above = max((self._level(edge) for edge in diagram.edges if self._forward(edge)), default=0)
        below = max((1 + self._level(edge) for edge in diagram.edges if not self._forward(edge)), default=0)
        room = max(above * _LEVEL, straight * _LINE - self.box / 2)
        self.middle = _TITLE + _ABOVE + room + self.box / 2
        self.height = self.middle + self.box / 2 + below * _LEVEL + _BELOW
        title = len(diagram.name) * 9.0 + (len(diagram.limit) + 3) * _LABEL
        self.width = max(self.spans[END][1], _SIDE + title) + _SIDE

    def lines(self) -> Iterator[str]:
        limit = f'<tspan class="limit">   {escape(self.diagram.limit)}</tspan>' if self.diagram.limit else ""
        name = escape(self.diagram.name)
        yield f'    <text x="{_SIDE}" y="{_TITLE}" class="title" xml:space="preserve">{name}{limit}</text>'
        yield from (line for edge in self.diagram.edges for line in self._edge(edge))
        for state in self.diagram.states:
            yield from self._state(state)
        start, end = (sum(self.spans[name]) / 2 for name in (START, END))
        yield f'    <circle cx="{start:.0f}" cy="{self.middle:.0f}" r="6" class="dot"/>'
        yield f'    <circle cx="{end:.0f}" cy="{self.middle:.0f}" r="9" class="ring"/>'
        yield f'    <circle cx="{end:.0f}" cy="{self.middle:.0f}" r="5" class="dot"/>'

    def _state(self, state: State) -> Iterator[str]:
        left, right = self.spans[state.name]
        top, says = self.middle - self.box / 2, self.says[state.name]
        yield f'    <rect x="{left:.0f}" y="{top:.0f}" width="{right - left:.0f}" height="{self.box}" rx="8"/>'
        first = self.middle - (len(says) + 1) * _LINE / 2 + 12
        yield _text((left + right) / 2, first, state.name, "name")
        for number, line in enumerate(says, 1):
            kind = "says" if state.condition else "any"
            yield _text((left + right) / 2, first + 1 + number * _LINE, line, kind)

    def _spans(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Where each state begins and ends, from left to right; gaps have room for what stands on the edge over them."""
        left = float(_SIDE)
        for name, after in zip(self.order, [*self.order[1:], ""], strict=True):
            longest = max((len(line) for line in self.says.get(name, ())), default=0)
            wide = max(len(name) * 8, longest * _CHARACTER) + 20
            width = 18.0 if name in (START, END) else wide
            yield name, (left, left + width)
            edges = (edge for edge in self.diagram.edges if (edge.source, edge.target) == (name, after))
            said = max((len(line) for edge in edges for line in _said(edge)), default=0)
            left += width + max(60.0, 34 + said * _LABEL)

    def _forward(self, edge: Edge) -> bool:
        return self.order.index(edge.target) > self.order.index(edge.source)

    def _straight(self, edge: Edge) -> bool:
        return self._forward(edge) and self._level(edge) == 0

    def _level(self, edge: Edge) -> int:
        """How many states it goes past."""
        away = self.order.index(edge.target) - self.order.index(edge.source)
        return away - 1 if away > 0 else -away

    def _half(self, name: str) -> float:
        """How far from the middle a state's edge is."""
        return {START: 8.0, END: 11.0}.get(name, self.box / 2)

    def _edge(self, edge: Edge) -> Iterator[str]:
        (_, from_right), (to_left, _) = self.spans[edge.source], self.spans[edge.target]
        if self._straight(edge):
            yield f'    <path d="M {from_right:.0f} {self.middle:.0f} H {to_left - 7:.0f}"/>'
            yield _tip(to_left, self.middle, "right")
            yield from self._label((from_right + to_left) / 2, self.middle - 7, edge)
            return
        source, target = (sum(self.spans[name]) / 2 for name in (edge.source, edge.target))
        side = -1 if self._forward(edge) else 1
        far = self.middle + side * (self.box / 2 + (self._level(edge) + (side + 1) / 2) * _LEVEL)
        begins, ends = (self.middle + side * self._half(name) for name in (edge.source, edge.target))
        shift = 14 if edge.source == edge.target else 0
        source, target = source + shift, target - shift
        yield (
            f'    <path d="M {source:.0f} {begins:.0f} C {source:.0f} {far:.0f} {target:.0f} {far:.0f} '
            f'{target:.0f} {ends + side * 7:.0f}"/>'
        )
        yield _tip(target, ends, "down" if side < 0 else "up")
        top = (begins + ends) / 2 * 0.25 + far * 0.75  # where the curve is in the middle of its way
        said = top - 5 if side < 0 else top + 12
        yield from self._label((source + target) / 2, said, edge, down=side > 0)

    def _label(self, x: float, y: float, edge: Edge, *, down: bool = False) -> Iterator[str]:
        """What stands on an edge: the last line at `y`; the first, where lines go down."""
        lines = _said(edge)
        for number, line in enumerate(lines):
            place = number if down else number - len(lines) + 1
            yield _text(x, y + place * (_LINE - 1), line, "label")


def _condition(state: State) -> list[str]:
    """A condition in lines: broken before `and` and `or`, and elsewhere only where a part is too long."""
    if not state.condition:
        return ["any row"]
    whole = " ".join(state.condition.split())
    if len(whole) <= _CONDITION:
        return [whole]
    return [
        line
        for part in _BROKEN.split(whole)
        for line in textwrap.wrap(part, _CONDITION, break_long_words=False, break_on_hyphens=False)
    ]


def _said(edge: Edge) -> list[str]:
    """What stands on an edge in lines, where it is long: each of what may, and must not, lie between on its own."""
    if len(edge.label) <= _SAID:
        return [edge.label] if edge.label else []
    return [
        line
        for part in _NEXT.split(edge.label)
        for line in textwrap.wrap(part, _SAID, break_long_words=False, break_on_hyphens=False)
    ]


def _text(x: float, y: float, said: str, kind: str) -> str:
    return f'    <text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" class="{kind}">{escape(said)}</text>'


def _tip(x: float, y: float, way: str) -> str:
    points = {
        "right": f"{x:.0f},{y:.0f} {x - 8:.0f},{y - 4:.0f} {x - 8:.0f},{y + 4:.0f}",
        "down": f"{x:.0f},{y:.0f} {x - 4:.0f},{y - 8:.0f} {x + 4:.0f},{y - 8:.0f}",
        "up": f"{x:.0f},{y:.0f} {x - 4:.0f},{y + 8:.0f} {x + 4:.0f},{y + 8:.0f}",
    }
    return f'    <polygon points="{points[way]}" class="tip"/>'
