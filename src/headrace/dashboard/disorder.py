"""The histogram of out-of-order rows, and the `out_of_order` that it recommends."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from headrace.dashboard.feeds.base import JobFigures
from headrace.dashboard.formatting import milliseconds
from headrace.durations import text


@dataclass(frozen=True)
class Bar:
    """One bucket of the histogram, by its upper bound."""

    label: str
    rows: int
    width: float
    """On a logarithmic scale, in percent, so that the few rows of the tail are visible."""
    beyond: bool
    """True if the recommended `out_of_order` would not wait for these rows."""


def bars_of(figures: JobFigures) -> list[Bar]:
    """Return the bars of the histogram.

    >>> [bar.label for bar in bars_of(JobFigures(out_of_order=[(0, 900), (250, 3)], recommended_ms=0))]
    ['in order', 'up to 250 ms']
    >>> [(bar.label, bar.rows) for bar in bars_of(JobFigures(out_of_order=[(5119, 2), (6143, 1), (8191, 4)]))]
    [('up to 8.19 s', 7)]
    """
    groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for bound, rows in figures.out_of_order:  # quarters of a power of two are one bar
        groups[max(0, bound).bit_length()].append((bound, rows))
    counts = [sum(rows for _, rows in group) for group in groups.values()]
    most, limit = max(counts, default=1), figures.recommended_ms
    return [
        Bar(
            f"up to {milliseconds(group[-1][0])}" if group[-1][0] > 0 else "in order",
            rows,
            round(80 * math.log1p(rows) / math.log1p(most), 1),
            limit is not None and group[0][0] > limit,
        )
        for group, rows in zip(groups.values(), counts, strict=True)
    ]


def recommendation(figures: JobFigures) -> str:
    """Return the recommended duration as text for a document, rounded up to two digits.

    >>> recommendation(JobFigures(recommended_ms=20_000)), recommendation(JobFigures(recommended_ms=0))
    ('20 seconds', '1 millisecond')
    >>> recommendation(JobFigures(recommended_ms=32_767)), recommendation(JobFigures(recommended_ms=319))
    ('33 seconds', '320 milliseconds')
    >>> recommendation(JobFigures(recommended_ms=6_143))
    '7 seconds'
    """
    recommended = max(figures.recommended_ms or 0, 1)
    unit = 1000 if recommended > 5_000 else 10 ** max(0, len(str(recommended)) - 2)
    return text(math.ceil(recommended / unit) * unit * 1000)
