"""The input streams of the patterns.

The same rows, in order, out of order, some of them late, and with deaths in between.

Times are seconds. The rows make each quantifier interesting: `a` twice in a row and with others between, an
`x` and an `e` where they matter, `b` without an `a` and twice, a pair of `a c` twice, and a second key.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.matrix.streams import End, Kill, Watermark, killed


@dataclass(frozen=True)
class Row:
    """A row of a key: a number to know it by, its letter and its time."""

    k: str
    v: int
    letter: str
    ts: int | None


@dataclass(frozen=True)
class Rows:
    """One micro-batch."""

    rows: tuple[Row, ...]


Line = Rows | Watermark | Kill | End

_P = {1: "s", 3: "a", 5: "a", 7: "b", 9: "s", 11: "a", 13: "x", 15: "b", 17: "s", 19: "b"}
_P |= {45: "s", 47: "a", 49: "a", 51: "a", 53: "b", 55: "s", 57: "a", 59: "a", 61: "b"}
_P |= {
    21: "s",
    23: "a",
    25: "c",
    27: "a",
    29: "c",
    31: "b",
    33: "s",
    35: "a",
    37: "e",
    39: "a",
    41: "b",
    43: "b",
}
_Q = {2: "s", 4: "a", 8: "b", 30: "s", 32: "b"}
ROWS = {ts: Row("p", ts, letter, ts) for ts, letter in _P.items()}
ROWS |= {ts: Row("q", ts, letter, ts) for ts, letter in _Q.items()}


def _rows(*times: int) -> Rows:
    return Rows(tuple(ROWS[time] for time in times))


IN_ORDER: tuple[Line, ...] = (
    _rows(1, 2, 3, 4, 5),
    Watermark(5),
    _rows(7, 8, 9, 11),
    _rows(13, 15),
    Watermark(15),
    _rows(17, 19, 21, 23, 25),
    Watermark(24),
    _rows(27, 29, 30, 31, 32),
    Watermark(33),
    _rows(33, 35, 37),
    _rows(39, 41, 43, 45, 47),
    _rows(49, 51, 53, 55),
    _rows(57, 59, 61),
    End(),
)

OUT_OF_ORDER: tuple[Line, ...] = (
    _rows(5, 3, 2, 1),
    _rows(8, 4, 7),
    Watermark(6),
    _rows(15, 9, 13),
    _rows(19, 11, 17),
    Watermark(16),
    _rows(31, 23, 21, 29, 25),
    _rows(27, 32, 30),
    Watermark(32),
    _rows(43, 37, 33),
    _rows(41, 39, 35, 51, 47),
    _rows(49, 61, 53, 45, 59),
    _rows(57, 55),
    End(),
)

LATE: tuple[Line, ...] = (
    _rows(1, 2, 5, 4),
    Watermark(5),
    _rows(3, 7, 8),  # row 3 is behind the watermark
    _rows(9, 15, 11),
    Watermark(14),
    _rows(13, 17, 19),  # row 13, the x, is late: nothing was between
    Watermark(21),
    Rows((*_rows(21, 23, 25, 27).rows, Row("p", 100, "a", None), Row("q", 101, "a", 20))),
    _rows(29, 31, 30, 32),
    Watermark(34),
    _rows(33, 35, 37, 39),  # so is row 33, the s
    _rows(43, 41, 51, 45),
    _rows(47, 53, 49),
    _rows(59, 61, 57, 55),
    End(),
)


STREAMS: dict[str, tuple[Line, ...]] = {
    "in order": IN_ORDER,
    "out of order": OUT_OF_ORDER,
    "late": LATE,
    # in an epoch, between two, and in an epoch that has late rows
    "killed": killed(LATE, {0: Kill(before_commit=True), 4: Kill(), 10: Kill(before_commit=True)}),
}
