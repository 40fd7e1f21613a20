"""The metrics of the last hours, sampled in memory."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

from headrace.dashboard.messages import POINTS

_POINTS = 7_200
_GAP = 10.0
"""Seconds without a sample after which a line is interrupted."""
_SPARK_SECONDS, _SPARK_POINTS = 900, 60

Sample = tuple[float, dict[str, float | None]]


class RecentHistory:
    """One series of samples for each job, at most one sample per second."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[Sample]] = defaultdict(lambda: deque(maxlen=_POINTS))

    def add(self, job: str, snapshot: Mapping[str, Any]) -> None:
        """Add the last tick of a job, unless it is known."""
        at, samples = snapshot.get("at"), self._samples[job]
        if at is None or (samples and samples[-1][0] >= at):
            return
        if samples and at - samples[-1][0] > _GAP:
            samples.append((at - 0.001, dict.fromkeys(POINTS)))
        samples.append((at, sample_of(snapshot["metrics"])))

    def columns(self, job: str, seconds: float) -> dict[str, list[float | None]]:
        """Return the columns of the charts over the last seconds."""
        since = time.time() - seconds
        samples = [sample for sample in list(self._samples[job]) if sample[0] >= since]
        return {
            "t": [at for at, _ in samples],
            **{name: [values[name] for _, values in samples] for name in POINTS},
        }

    def rates(self, job: str) -> list[float | None]:
        """Return the rates of rows over 15 minutes, for a sparkline."""
        now, width = time.time(), _SPARK_SECONDS / _SPARK_POINTS
        slots: list[list[float]] = [[] for _ in range(_SPARK_POINTS)]
        for at, values in list(self._samples[job]):
            slot, rate = int((at - now + _SPARK_SECONDS) / width), values["rate_in"]
            if rate is not None and 0 <= slot < _SPARK_POINTS:
                slots[slot].append(rate)
        return [sum(slot) / len(slot) if slot else None for slot in slots]


def sample_of(metrics: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the values of the charts from the metrics of a tick."""
    delay = metrics.get("watermark_delay_ms")
    known = {**metrics, **(metrics.get("latency_ms") or {})}
    known["watermark_delay"] = None if delay is None else delay / 1000
    return {name: known.get(name) for name in POINTS}
