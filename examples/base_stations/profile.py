"""The usual values of a measuring point, as a t-digest, and the values that are far above them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from datasketches import tdigest_double

from headrace import Processor, state, timers

LEARN = 60
"""Values before the first one is judged."""


class AtypicalValues(Processor):
    """Reports values further above the 99th percentile than that is above the median.

    The percentiles are those of all earlier values of the measuring point. A t-digest holds them in about
    2 kB, however many there are. Values arrive out of order, so they wait for the watermark to pass them.
    """

    output = "station_id string, datapoint_id string, at timestamp, value double"
    waiting: list[tuple[datetime, float]] = state.list()
    digest: bytes = state.value(b"")
    passed = timers.event()

    def process(self, row: Any) -> None:
        self.waiting.append((row.event_time, row.value))
        self.passed.set(min(self.waiting)[0])

    def on_passed(self, at: datetime) -> Iterator[tuple[str, str, datetime, float]]:
        watermark = self.watermark or at
        digest = tdigest_double.deserialize(self.digest) if self.digest else tdigest_double()
        for time, value in sorted(row for row in self.waiting if row[0] <= watermark):
            if digest.get_total_weight() >= LEARN:
                median, usual = digest.get_quantile(0.5), digest.get_quantile(0.99)
                if value > usual + (usual - median):
                    yield self.key.station_id, self.key.datapoint_id, time, value
            digest.update(value)
        self.digest = digest.serialize()
        self.waiting = [row for row in self.waiting if row[0] > watermark]
        if self.waiting:
            self.passed.set(min(self.waiting)[0])
