"""Delays of rows behind the clock and behind the highest event time, from the kernel's histograms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.runtime.progress.epochs import Percentiles, percentiles_of

Histogram = Mapping[int, int]
"""Rows by the upper bound of their bucket, in milliseconds."""
ENOUGH_ROWS = 1_000
"""The rows from which 99.9 % of them says something: one row is beyond."""


@dataclass(frozen=True)
class Delays:
    """Histograms of all rows of a run that have an event time.

    >>> delays = Delays.of(['{"behind_clock": [[100, 3], [900, 1]], "out_of_order": [[0, 4]]}'])
    >>> delays.latency(0), delays.share_within(0)
    (Percentiles(p50=100, p95=900, p99=900), 1.0)
    """

    behind_clock: Histogram = field(default_factory=dict)
    """Clock when a row was read, minus its event time."""
    out_of_order: Histogram = field(default_factory=dict)
    """Highest event time that the partition of a row had reached, minus the event time of the row."""

    def __bool__(self) -> bool:
        return bool(self.behind_clock)

    @classmethod
    def of(cls, reported: Iterable[str]) -> Delays:
        """Return the sum of the histograms that the kernel reports as JSON."""
        texts = [json.loads(text) for text in reported]
        return cls(_sum(text["behind_clock"] for text in texts), _sum(text["out_of_order"] for text in texts))

    def since(self, before: Delays) -> Delays:
        """Return the delays of the rows that were counted after `before`."""
        return Delays(
            _difference(self.behind_clock, before.behind_clock),
            _difference(self.out_of_order, before.out_of_order),
        )

    def latency(self, batch_ms: float) -> Percentiles | None:
        """Return percentiles of the time from the event to the sink, given the median duration of a batch."""
        return percentiles_of((bound + batch_ms, rows) for bound, rows in self.behind_clock.items())

    def share_within(self, out_of_order_ms: int) -> float:
        """Return the share of rows that are at most `out_of_order_ms` out of order."""
        total = sum(self.out_of_order.values())
        within = sum(rows for bound, rows in self.out_of_order.items() if bound <= out_of_order_ms)
        return within / total if total else 1.0

    def recommend_out_of_order(self, share: float = 0.999) -> int | None:
        """Return the smallest `out_of_order` in milliseconds within which this share of the rows arrives.

        None for fewer than `ENOUGH_ROWS` rows.

        >>> Delays(out_of_order={0: 16, 500: 1}).recommend_out_of_order()
        >>> Delays(out_of_order={0: 16_000, 500: 1}).recommend_out_of_order()
        0
        """
        if sum(self.out_of_order.values()) < ENOUGH_ROWS:
            return None
        bounds = sorted(self.out_of_order)
        return next((bound for bound in bounds if self.share_within(bound) >= share), None)


def _sum(histograms: Iterable[Sequence[Sequence[int]]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for histogram in histograms:
        for bound, rows in histogram:
            total[bound] = total.get(bound, 0) + rows
    return total


def _difference(now: Histogram, before: Histogram) -> dict[int, int]:
    changes = {bound: rows - before.get(bound, 0) for bound, rows in now.items()}
    return {bound: rows for bound, rows in changes.items() if rows > 0}
