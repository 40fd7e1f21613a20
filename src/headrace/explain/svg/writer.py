"""Write panels of marks as one SVG file for light and dark pages, without scripts, fonts or images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from headrace.explain.svg.marks import Arrow, Cross, Curve, Dot, Mark, Path, Rect, Text
from headrace.explain.svg.style import STYLE

BETWEEN = 12.0


@dataclass(frozen=True)
class Panel:
    """A part of a picture: its marks from back to front, and its size."""

    name: str
    marks: tuple[Mark, ...]
    width: float
    height: float


def render(panels: Sequence[Panel]) -> str:
    """Return the panels, one below the other, as SVG text."""
    width = max(panel.width for panel in panels)
    height = sum(panel.height for panel in panels) + BETWEEN * (len(panels) - 1)
    name = "; ".join(panel.name for panel in panels)
    size = f'viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(name)}>',
        f"<style>{STYLE}</style>",
    ]
    top = 0.0
    for panel in panels:
        parts += _panel(panel, top, width)
        top += panel.height + BETWEEN
    return "\n".join([*parts, "</svg>", ""])


def number(value: float) -> str:
    """Format a number as briefly as possible: pictures are committed and compared.

    >>> number(12.0), number(12.3456)
    ('12', '12.35')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _panel(panel: Panel, top: float, width: float) -> list[str]:
    return [
        f'<g transform="translate(0 {number(top)})">',
        f"<title>{escape(panel.name)}</title>",
        f'<rect class="page" width="{number(width)}" height="{number(panel.height)}" rx="8"/>',
        *map(element, panel.marks),
        "</g>",
    ]


def element(mark: Mark) -> str:
    """Return a mark as an SVG element."""
    match mark:
        case Rect():
            sides = _sides(x=mark.x, y=mark.y, width=mark.width, height=mark.height)
            return _with_tip("rect", f'class="{mark.kind}" {sides} rx="3"', mark.tip)
        case Dot():
            return _with_tip(
                "circle", f'class="{mark.kind}" {_sides(cx=mark.x, cy=mark.y, r=mark.radius)}', mark.tip
            )
        case Cross():
            x, y, reach = mark.x, mark.y, mark.reach
            stroke = f"M{number(x - reach)} {number(y - reach)}L{number(x + reach)} {number(y + reach)}"
            other = f"M{number(x - reach)} {number(y + reach)}L{number(x + reach)} {number(y - reach)}"
            return f'<path class="{mark.kind}" d="{stroke}{other}"/>'
        case Path() | Curve():
            start, *rest = (f"{number(x)} {number(y)}" for x, y in mark.points)
            way = "C" + " ".join(rest) if isinstance(mark, Curve) else "".join(f"L{point}" for point in rest)
            return f'<path class="{mark.kind}" d="M{start}{way}"/>'
        case Arrow():
            points = " ".join(f"{number(x)},{number(y)}" for x, y in mark.points)
            return f'<polygon class="{mark.kind}" points="{points}"/>'
        case Text():
            anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
            size = f'font-size="{number(mark.size)}"'
            return (
                f'<text class="{mark.kind}" {_sides(x=mark.x, y=mark.y)} {size}{anchor}>'
                f"{escape(mark.text)}</text>"
            )


def _sides(**values: float) -> str:
    return " ".join(f'{name}="{number(value)}"' for name, value in values.items())


def _with_tip(name: str, attributes: str, tip: str) -> str:
    return f"<{name} {attributes}><title>{escape(tip)}</title></{name}>" if tip else f"<{name} {attributes}/>"
