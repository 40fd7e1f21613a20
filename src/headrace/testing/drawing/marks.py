"""What a picture is made of: rectangles, dots, lines and texts, each with a class that the style sheet colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Anchor = Literal["start", "middle", "end"]

EM, NARROW_EM = 0.62, 0.38
"""How wide a character is, of its font size: more than most are, so that texts that should not touch don't."""
NARROW = frozenset(" .,:;|!'()[]fijlrt")
SIZE = 12.0


@dataclass(frozen=True)
class Extent:
    """The room that a mark takes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Extent) -> bool:
        """Whether the two share room; touching is not sharing."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass(frozen=True)
class Rect:
    """A box; `tip` is what a viewer shows when it is pointed at."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    tip: str = ""

    @property
    def extent(self) -> Extent:
        return Extent(self.x, self.y, self.x + self.width, self.y + self.height)


@dataclass(frozen=True)
class Dot:
    """A row."""

    x: float
    y: float
    kind: str
    tip: str = ""
    radius: float = 4.5

    @property
    def extent(self) -> Extent:
        return Extent(self.x - self.radius, self.y - self.radius, self.x + self.radius, self.y + self.radius)


@dataclass(frozen=True)
class Cross:
    """Two strokes over a dot: the row was refused."""

    x: float
    y: float
    kind: str = "refused"
    reach: float = 5.5


@dataclass(frozen=True)
class Path:
    """Straight lines from point to point."""

    points: tuple[tuple[float, float], ...]
    kind: str


@dataclass(frozen=True)
class Text:
    """A line of text; `y` is its base line."""

    x: float
    y: float
    text: str
    kind: str = "label"
    anchor: Anchor = "start"
    size: float = SIZE

    @property
    def extent(self) -> Extent:
        width = width_of(self.text, self.size)
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return Extent(left, self.y - self.size * 0.8, left + width, self.y + self.size * 0.2)


Mark = Rect | Dot | Cross | Path | Text


def width_of(text: str, size: float = SIZE) -> float:
    """How much room a text takes, about."""
    return size * sum(NARROW_EM if character in NARROW else EM for character in text)
