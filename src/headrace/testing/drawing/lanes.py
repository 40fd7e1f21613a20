"""Lanes: things that would overlap side by side are put below each other."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 4.0
"""Room between two things in one lane, in pixels."""


def lanes_of(spans: Sequence[tuple[float, float]], *, in_order: bool = False) -> list[int]:
    """For each span (left, right) the first lane that has room for it.

    With `in_order` nothing goes above what came before it and overlaps it, so that reading down is reading in order.

    >>> lanes_of([(0, 10), (20, 30), (5, 25)])
    [0, 0, 1]
    """
    lanes: list[list[tuple[float, float]]] = []
    found = []
    for span in spans:
        meets = [any(_meet(span, other) for other in lane) for lane in lanes]
        if in_order:
            lane = max((index + 1 for index, hit in enumerate(meets) if hit), default=0)
        else:
            lane = meets.index(False) if False in meets else len(lanes)
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append(span)
        found.append(lane)
    return found


def _meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] + GAP and other[0] < one[1] + GAP
