"""The histogram of out-of-order rows, and the `out_of_order` that it recommends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headrace.dashboard.feeds.base import JobFigures
from headrace.dashboard.formatting import milliseconds
from headrace.durations import text


@dataclass(frozen=True)
class Bar:
    """One bucket: rows that are at most so far out of order."""

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
    """
    most = max((rows for _, rows in figures.out_of_order), default=1)
    limit = figures.recommended_ms
    return [
        Bar(
            f"up to {milliseconds(bound)}" if bound > 0 else "in order",
            rows,
            round(80 * math.log1p(rows) / math.log1p(most), 1),
            limit is not None and bound > limit,
        )
        for bound, rows in figures.out_of_order
    ]


def recommendation(figures: JobFigures) -> str:
    """Return the recommended duration as a document would have it, rounded up to two digits.

    >>> recommendation(JobFigures(recommended_ms=20_000)), recommendation(JobFigures(recommended_ms=0))
    ('20 seconds', '1 millisecond')
    >>> recommendation(JobFigures(recommended_ms=32_767)), recommendation(JobFigures(recommended_ms=319))
    ('33 seconds', '320 milliseconds')
    """
    milliseconds = max(figures.recommended_ms or 0, 1)
    unit = 1000 if milliseconds > 10_000 else 10 ** max(0, len(str(milliseconds)) - 2)
    return text(math.ceil(milliseconds / unit) * unit * 1000)
