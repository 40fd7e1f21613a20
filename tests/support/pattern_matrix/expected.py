"""Expected outputs of a cell: the pattern model applied to the stream of the cell.

A death changes nothing: that is what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docs.playground.model.patterns import Model, run_of
from docs.playground.model.patterns import Row as Lettered

from tests.support.matrix.streams import Watermark
from tests.support.pattern_matrix.cells import WITHIN, Cell
from tests.support.pattern_matrix.streams import Line, Row, Rows

KEYS = ("p", "q")
Outputs = dict[str, list[dict[str, Any]]]


def expected_outputs(cell: Cell, stream: Sequence[Line]) -> Outputs:
    """The matches, and the rows that came too late for one."""
    taken, late = _judge(stream)
    actual = [match for key in KEYS for match in _matches(cell, key, [row for row in taken if row.k == key])]
    return {"out": actual, "out.late": late}


def _judge(stream: Sequence[Line]) -> tuple[list[Row], list[dict[str, Any]]]:
    """The rows that are matched, and the late ones as they are given out."""
    mark, taken, late = None, [], []
    for line in stream:
        mark = int(line.at) if isinstance(line, Watermark) else mark
        for row in line.rows if isinstance(line, Rows) else ():
            if row.ts is not None and (mark is None or row.ts >= mark):
                taken.append(row)
            else:
                late.append(_late(row, mark))
    return taken, late


def _late(row: Row, mark: int | None) -> dict[str, Any]:
    by = None if row.ts is None or mark is None else mark - row.ts
    reason = "no_event_time" if row.ts is None else "too_late"
    return {"k": row.k, "v": row.v, "late_by": by, "window": None, "watermark": mark, "reason": reason}


def _matches(cell: Cell, key: str, rows: list[Row]) -> list[dict[str, Any]]:
    own = sorted(rows, key=lambda row: row.ts or 0)
    lettered = tuple(Lettered(row.ts or 0, row.letter) for row in own)
    word, _, step = cell.skip.rstrip(")").partition("(")
    chosen = run_of(Model(cell.model, lettered, WITHIN).paths(), word, step)
    return [
        {"k": key}
        | {name: [own[place].v for taken, place in path if taken == name] for name in ("s", "a", "b")}
        for path in chosen
    ]
