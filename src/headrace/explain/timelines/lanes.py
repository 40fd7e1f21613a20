"""Assign spans to lanes so that no two in a lane overlap."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 4.0
"""Gap between two spans in a lane, in pixels."""


def lanes_of(spans: Sequence[tuple[float, float]], *, in_order: bool = False) -> list[int]:
    """Return for each span (left, right) the first lane with room for it.

    With `in_order`, a span is below every earlier span that it overlaps.

    >>> lanes_of([(0, 10), (20, 30), (5, 25)])
    [0, 0, 1]
    """
    lanes: list[list[tuple[float, float]]] = []
    assigned = []
    for span in spans:
        meets = [any(_meet(span, other) for other in lane) for lane in lanes]
        if in_order:
            lane = max((index + 1 for index, hit in enumerate(meets) if hit), default=0)
        else:
            lane = meets.index(False) if False in meets else len(lanes)
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append(span)
        assigned.append(lane)
    return assigned


def _meet(span: tuple[float, float], other: tuple[float, float]) -> bool:
    return span[0] < other[1] + GAP and other[0] < span[1] + GAP
