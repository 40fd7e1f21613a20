"""The marks of a picture: rectangles, dots, lines and texts, each with a class of the style sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Anchor = Literal["start", "middle", "end"]

EM, NARROW_EM = 0.62, 0.38
"""Estimated width of a character relative to the font size, on the wide side so that texts do not touch."""
NARROW = frozenset(" .,:;|!'()[]fijlrt")
SIZE = 12.0


@dataclass(frozen=True)
class Rect:
    """A box; `tip` is its tooltip."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    tip: str = ""


@dataclass(frozen=True)
class Dot:
    """A circle, such as a row of a time line."""

    x: float
    y: float
    kind: str
    tip: str = ""
    radius: float = 4.5


@dataclass(frozen=True)
class Cross:
    """Two strokes over the dot of a row that was sent to `.late`."""

    x: float
    y: float
    kind: str = "refused"
    reach: float = 5.5


@dataclass(frozen=True)
class Path:
    """A polyline."""

    points: tuple[tuple[float, float], ...]
    kind: str


@dataclass(frozen=True)
class Text:
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    kind: str = "label"
    anchor: Anchor = "start"
    size: float = SIZE


@dataclass(frozen=True)
class Curve:
    """A cubic Bézier curve: start, two control points and end."""

    points: tuple[tuple[float, float], ...]
    kind: str


@dataclass(frozen=True)
class Arrow:
    """The head of an arrow, with its tip at (x, y)."""

    x: float
    y: float
    direction: Literal["right", "down", "up"]
    kind: str = "arrow"

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        sides = {"right": ((-8, -4), (-8, 4)), "down": ((-4, -8), (4, -8)), "up": ((-4, 8), (4, 8))}
        return ((self.x, self.y), *((self.x + dx, self.y + dy) for dx, dy in sides[self.direction]))


Mark = Rect | Dot | Cross | Path | Curve | Arrow | Text


def width_of(text: str, size: float = SIZE) -> float:
    """Estimate the width of a text."""
    return size * sum(NARROW_EM if character in NARROW else EM for character in text)
