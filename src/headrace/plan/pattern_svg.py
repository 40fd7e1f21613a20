"""State diagrams of patterns as SVG: steps in a row, ways past a step above them, ways back below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from headrace.plan.pattern_diagram import END, START, Diagram, Edge

_BOX_HEIGHT, _GAP, _SIDE, _CHARACTER = 44, 150, 30, 6.6
_LEVEL, _ABOVE, _TITLE = 34, 30, 26
_STYLE = """
    text { font: 12px sans-serif; fill: #1f2933 } .name { font-weight: bold } .title { font: bold 14px sans-serif }
    .says { font: 11px monospace; fill: #52606d } .label { font: 11px sans-serif; fill: #2b6cb0 }
    rect { fill: #ebf4ff; stroke: #2b6cb0; stroke-width: 1.5 } path { fill: none; stroke: #52606d; stroke-width: 1.3 }
    .dot { fill: #1f2933 } .ring { fill: none; stroke: #1f2933; stroke-width: 1.3 } .tip { fill: #52606d; stroke: none }
"""


def svg_of(diagrams: Sequence[Diagram]) -> str:
    """The diagrams as one picture, one below the other.

    >>> from headrace import patterns
    >>> from headrace.plan.nodes import Match, Ref
    >>> from headrace.plan.pattern_diagram import diagram_of
    >>> svg_of([diagram_of(Match("m", Ref("tx"), (), patterns.step("a", "x = 1").next("b", "x = 2")))])[:5]
    '<svg '
    """
    panels = [_Panel(diagram) for diagram in diagrams]
    width = max(panel.width for panel in panels)
    height = sum(panel.height for panel in panels)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">']
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
        self.spans = dict(self._spans())
        above = max((self._level(edge) for edge in diagram.edges if self._forward(edge)), default=0)
        below = max((1 + self._level(edge) for edge in diagram.edges if not self._forward(edge)), default=0)
        self.middle = _TITLE + _ABOVE + above * _LEVEL + _BOX_HEIGHT / 2
        self.height = self.middle + _BOX_HEIGHT / 2 + below * _LEVEL + 24
        self.width = self.spans[END][1] + _SIDE

    def lines(self) -> Iterator[str]:
        yield f'    <text x="{_SIDE}" y="{_TITLE}" class="title">{escape(self.diagram.name)}</text>'
        yield from (line for edge in self.diagram.edges for line in self._edge(edge))
        for state in self.diagram.states:
            left, right = self.spans[state.name]
            top = self.middle - _BOX_HEIGHT / 2
            yield f'    <rect x="{left:.0f}" y="{top:.0f}" width="{right - left:.0f}" height="{_BOX_HEIGHT}" rx="8"/>'
            yield _text((left + right) / 2, self.middle - 4, state.name, "name")
            yield _text((left + right) / 2, self.middle + 13, state.condition, "says")
        start, end = (sum(self.spans[name]) / 2 for name in (START, END))
        yield f'    <circle cx="{start:.0f}" cy="{self.middle:.0f}" r="6" class="dot"/>'
        yield f'    <circle cx="{end:.0f}" cy="{self.middle:.0f}" r="9" class="ring"/>'
        yield f'    <circle cx="{end:.0f}" cy="{self.middle:.0f}" r="5" class="dot"/>'

    def _spans(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Where each state begins and ends, from left to right; gaps have room for what stands on the edge over them."""
        left = float(_SIDE)
        conditions = {state.name: state.condition for state in self.diagram.states}
        for name, after in zip(self.order, [*self.order[1:], ""], strict=True):
            wide = max(len(name) * 8, len(conditions.get(name, "")) * _CHARACTER) + 20
            width = 18.0 if name in (START, END) else wide
            yield name, (left, left + width)
            said = [len(e.label) for e in self.diagram.edges if (e.source, e.target) == (name, after)]
            left += width + max(60.0, 30 + max(said, default=0) * _CHARACTER)

    def _forward(self, edge: Edge) -> bool:
        return self.order.index(edge.target) > self.order.index(edge.source)

    def _level(self, edge: Edge) -> int:
        """How many states it goes past."""
        away = self.order.index(edge.target) - self.order.index(edge.source)
        return away - 1 if away > 0 else -away

    def _edge(self, edge: Edge) -> Iterator[str]:
        (_, from_right), (to_left, _) = self.spans[edge.source], self.spans[edge.target]
        if self._forward(edge) and self._level(edge) == 0:
            yield f'    <path d="M {from_right:.0f} {self.middle:.0f} H {to_left - 7:.0f}"/>'
            yield _tip(to_left, self.middle, "right")
            yield _text((from_right + to_left) / 2, self.middle - 7, edge.label, "label")
            return
        source, target = (sum(self.spans[name]) / 2 for name in (edge.source, edge.target))
        up = self._forward(edge)
        side = -1 if up else 1
        begins = self.middle + side * _BOX_HEIGHT / 2
        far = begins + side * (self._level(edge) + (0 if up else 1)) * _LEVEL
        shift = 14 if edge.source == edge.target else 0
        source, target = source + shift, target - shift
        yield (
            f'    <path d="M {source:.0f} {begins:.0f} C {source:.0f} {far:.0f} {target:.0f} {far:.0f} '
            f'{target:.0f} {begins + side * 7:.0f}"/>'
        )
        yield _tip(target, begins, "down" if up else "up")
        yield _text(
            (source + target) / 2,
            begins + side * abs(far - begins) * 0.75 + (-5 if up else 12),
            edge.label,
            "label",
        )


def _text(x: float, y: float, said: str, kind: str) -> str:
    return f'    <text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" class="{kind}">{escape(said)}</text>'


def _tip(x: float, y: float, way: str) -> str:
    points = {
        "right": f"{x:.0f},{y:.0f} {x - 8:.0f},{y - 4:.0f} {x - 8:.0f},{y + 4:.0f}",
        "down": f"{x:.0f},{y:.0f} {x - 4:.0f},{y - 8:.0f} {x + 4:.0f},{y - 8:.0f}",
        "up": f"{x:.0f},{y:.0f} {x - 4:.0f},{y + 8:.0f} {x + 4:.0f},{y + 8:.0f}",
    }
    return f'    <polygon points="{points[way]}" class="tip"/>'
