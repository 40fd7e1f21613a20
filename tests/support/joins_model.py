"""Joins by brute force: every pair of rows is tested, and the time of each result follows from the rules.

The model states when a result is emitted: a pair with its second row, an unmatched row with the first watermark
at which no partner can arrive any more. Times are whole seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

NEVER = 10**12
"""A watermark after all rows."""


@dataclass(frozen=True)
class Row:
    """A row of a side; `id` is its number in arrival order, `value` is for extra conditions."""

    side: str
    key: str | None
    time: int
    value: int
    id: int


@dataclass(frozen=True)
class Batch:
    """A micro-batch: its rows, and the watermark in force; None for no watermark yet."""

    rows: tuple[Row, ...]
    watermark: int | None


Result = tuple[int | None, int | None, int]
"""The ids of the left and the right row, and the event time."""
Results = list[Counter[Result]]
"""The results of each micro-batch."""
Accepts = Callable[[Row, Row], bool]


def accepted(batches: Sequence[Batch]) -> Iterator[tuple[int, Row]]:
    """Yield the rows that are not late, each with the number of its micro-batch."""
    for number, batch in enumerate(batches):
        for row in batch.rows:
            if batch.watermark is None or row.time >= batch.watermark:
                yield number, row


def late(batches: Sequence[Batch]) -> Results:
    """Return the late rows of each micro-batch, as results of one side."""
    on_time = {row.id for _, row in accepted(batches)}
    return [Counter(_alone(row) for row in batch.rows if row.id not in on_time) for batch in batches]


def passes(batches: Sequence[Batch], arrived: int, time: int) -> int:
    """Return the first micro-batch, from that of the arrival on, whose watermark is past a time."""
    for number in range(arrived, len(batches)):
        watermark = batches[number].watermark
        if watermark is not None and time < watermark:
            return number
    raise AssertionError("the last watermark is past all rows")


def interval_join(batches: Sequence[Batch], how: str, lower: int, upper: int, accepts: Accepts) -> Results:
    """Return the results of an interval join."""
    rows = list(accepted(batches))
    results: Results = [Counter() for _ in batches]
    left = [item for item in rows if item[1].side == "left"]
    right = [item for item in rows if item[1].side == "right"]

    def is_pair(a: Row, b: Row) -> bool:
        return a.key is not None and a.key == b.key and lower <= b.time - a.time <= upper and accepts(a, b)

    for received, row in left:
        partners = [(other_came, other) for other_came, other in right if is_pair(row, other)]
        if how in ("inner", "left", "right", "full"):
            for other_came, other in partners:
                results[max(received, other_came)][(row.id, other.id, max(row.time, other.time))] += 1
        if how == "semi" and partners:
            results[max(received, min(number for number, _ in partners))][_alone(row)] += 1
        if how in ("left", "full", "anti") and not partners:
            results[passes(batches, received, row.time + upper)][_alone(row)] += 1
    for received, row in right if how in ("right", "full") else ():
        if not any(is_pair(other, row) for _, other in left):
            results[passes(batches, received, row.time - lower)][_alone(row)] += 1
    return results


def window_join(batches: Sequence[Batch], how: str, size: int, every: int, accepts: Accepts) -> Results:
    """Return the results of a join inside windows; the event time stands for the end of the window."""
    rows = list(accepted(batches))
    results: Results = [Counter() for _ in batches]
    starts = {
        start for _, row in rows for start in range(row.time - row.time % every, row.time - size, -every)
    }
    for start in sorted(starts):
        inside = [(received, row) for received, row in rows if start <= row.time < start + size]
        closes = passes(batches, max(received for received, _ in inside), start + size - 1)
        for result in _pairs([row for _, row in inside], how, accepts):
            results[closes][(*result, start + size)] += 1
    return results


def _pairs(rows: Sequence[Row], how: str, accepts: Accepts) -> Iterator[tuple[int | None, int | None]]:
    left, right = ([row for row in rows if row.side == side] for side in ("left", "right"))
    pairs = [(a, b) for a in left for b in right if a.key is not None and a.key == b.key and accepts(a, b)]
    if how not in ("semi", "anti"):
        yield from ((a.id, b.id) for a, b in pairs)
    with_partner = {row.id for pair in pairs for row in pair}
    if how == "semi":
        yield from ((row.id, None) for row in left if row.id in with_partner)
    if how in ("left", "full", "anti"):
        yield from ((row.id, None) for row in left if row.id not in with_partner)
    if how in ("right", "full"):
        yield from ((None, row.id) for row in right if row.id not in with_partner)


def as_of_join(batches: Sequence[Batch], direction: str, tolerance: int | None, how: str) -> Results:
    """Return the results of an as-of join: a row is decided when a right row at the watermark would not be better."""
    rows = list(accepted(batches))
    results: Results = [Counter() for _ in batches]
    for received, row in rows:
        if row.side == "left":
            number, partner = _decide(batches, rows, received, row, direction, tolerance)
            if partner is not None or how == "left":
                results[number][(row.id, None if partner is None else partner.id, row.time)] += 1
    return results


def _decide(
    batches: Sequence[Batch],
    rows: Sequence[tuple[int, Row]],
    arrived: int,
    row: Row,
    direction: str,
    tolerance: int | None,
) -> tuple[int, Row | None]:
    for number in range(passes(batches, arrived, row.time), len(batches)):
        watermark = batches[number].watermark
        assert watermark is not None
        right = [
            other
            for received, other in rows
            if received < number and other.side == "right" and other.time < watermark
        ]
        if row.key is None or number == len(batches) - 1:
            return number, _closest(row, right, direction, tolerance)
        future = Row("right", row.key, watermark, 0, 10**6)
        best = _closest(row, [*right, future], direction, tolerance)
        if best is not future:
            return number, best
    raise AssertionError("the last watermark is past all rows")


def _closest(row: Row, right: Sequence[Row], direction: str, tolerance: int | None) -> Row | None:
    """Return the right row that is closest; of equal times the one that arrived last, of equal distances the earlier."""
    candidates = [
        other
        for other in right
        if other.key == row.key is not None
        and (direction != "backward" or other.time <= row.time)
        and (direction != "forward" or other.time >= row.time)
        and (tolerance is None or abs(other.time - row.time) <= tolerance)
    ]
    return min(
        candidates, key=lambda other: (abs(other.time - row.time), other.time, -other.id), default=None
    )


def _alone(row: Row) -> Result:
    return (row.id, None, row.time) if row.side == "left" else (None, row.id, row.time)
