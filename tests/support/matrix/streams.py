"""The input streams of the cells.

The same twelve rows, in order, out of order, some of them late, and with deaths in between.

Times are seconds. The rows make each kind of window interesting: sessions that grow, merge and stand exactly
a gap apart, windows that close by count, by a jump of `x` and by `kind`, a second key, and long enough a time
for lateness to end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Row:
    """A row of a key: a number to know it by, its time, and what delta, punctuation and landmark windows look at."""

    k: str
    v: int
    ts: float | None
    x: float = 0
    kind: str = "row"


@dataclass(frozen=True)
class Rows:
    """One micro-batch."""

    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Watermark:
    """The watermark is now this."""

    at: float


@dataclass(frozen=True)
class Advance:
    """The clock jumps."""

    by: int


@dataclass(frozen=True)
class Kill:
    """The run dies and starts again: between two epochs, or in the last one before its commit."""

    before_commit: bool = False


@dataclass(frozen=True)
class End:
    """The input ends."""


Line = Rows | Watermark | Advance | Kill | End
_Line = TypeVar("_Line")

ROWS = {
    row.v: row
    for row in (
        Row("a", 1, 1, 10),
        Row("a", 2, 3, 11),
        Row("b", 3, 4, 50),
        Row("a", 4, 6, 14, "open"),
        Row("a", 5, 11, 17, "end"),
        Row("b", 6, 12, 57, "end"),
        Row("a", 7, 13, 18),
        Row("a", 8, 17, 25, "open"),
        Row("a", 9, 22, 26),
        Row("b", 10, 24, 58, "open"),
        Row("a", 11, 26, 33, "end"),
        Row("a", 12, 28, 34),
    )
}


def _rows(*numbers: int) -> Rows:
    return Rows(tuple(ROWS[number] for number in numbers))


IN_ORDER: tuple[Line, ...] = (
    _rows(1, 2, 3),
    Advance(5),
    _rows(4),
    Watermark(8),
    _rows(5, 6),
    Watermark(12),
    Advance(5),
    _rows(7, 8),
    Watermark(20),
    _rows(9, 10),
    Advance(5),
    _rows(11, 12),
    End(),
)

OUT_OF_ORDER: tuple[Line, ...] = (
    _rows(4, 1),  # two sessions
    Advance(5),
    _rows(3, 2),  # row 2 joins them
    _rows(7, 5),
    Watermark(8),
    _rows(8, 6),
    Watermark(12),
    Advance(5),
    _rows(11, 9),
    Watermark(20),
    _rows(12, 10),
    Advance(5),
    End(),
)

LATE: tuple[Line, ...] = (
    _rows(1, 2, 3),
    Watermark(8),
    _rows(5, 4),  # row 4 is behind the watermark: its session had closed and opens again
    Advance(5),
    Watermark(12),
    Rows((ROWS[7], Row("b", 13, 9, 52))),  # row 13 is late for its window, within the lateness
    Advance(5),
    _rows(8),
    Watermark(33),
    Rows(
        (Row("a", 14, 14, 20), Row("a", 15, 5, 12), Row("b", 16, None, 55))
    ),  # within it, beyond it, no time
    Rows((Row("a", 17, 36, 35, "end"), Row("b", 18, 34, 60), Row("a", 19, 12, 19))),  # row 19 is late again
    Advance(5),
    End(),
)


def killed(stream: tuple[_Line, ...], deaths: Mapping[int, Kill]) -> tuple[_Line | Kill, ...]:
    """The stream with deaths, each after the line of its number."""
    lines: list[_Line | Kill] = []
    for i, line in enumerate(stream):
        lines += [line, deaths[i]] if i in deaths else [line]
    return tuple(lines)


STREAMS: dict[str, tuple[Line, ...]] = {
    "in order": IN_ORDER,
    "out of order": OUT_OF_ORDER,
    "late": LATE,
    # in an epoch, between two, and in the epoch of the late rows
    "killed": killed(LATE, {2: Kill(before_commit=True), 4: Kill(), 9: Kill(before_commit=True)}),
}
