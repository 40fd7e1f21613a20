"""The columns of the charts, from samples of the metrics' history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from headrace.dashboard.messages import POINTS

SPARK_SECONDS, SPARK_POINTS = 900, 60
_NAMES = {"p50": "latency_ms_p50", "p95": "latency_ms_p95", "p99": "latency_ms_p99"}
"""Names of columns in the history, where they differ."""
_GAP = 4
"""Missing samples after which a line is interrupted."""

Samples = Sequence[Mapping[str, Any]]
Columns = dict[str, list[float | None]]


def columns_of(samples: Samples) -> Columns:
    """Return one column for each series, and `t`; None where samples are missing.

    >>> samples = [{"at": t, "rate_in": 5.0, "watermark_delay_ms": 1500} for t in (0, 10, 20, 500)]
    >>> columns = columns_of(samples)
    >>> columns["rate_in"], columns["watermark_delay"][0]
    ([5.0, 5.0, 5.0, None, 5.0], 1.5)
    """
    details = dict.fromkeys(name for sample in samples for name in sample if "/" in name)
    columns: Columns = {"t": [], **{name: [] for name in (*POINTS, *details)}}
    step = min((later["at"] - earlier["at"] for earlier, later in pairwise(samples)), default=0)
    for index, sample in enumerate(samples):
        if index and sample["at"] - samples[index - 1]["at"] > _GAP * step:
            _append(columns, {"at": samples[index - 1]["at"] + step})
        _append(columns, sample)
    return columns


def sparkline_of(samples: Samples, now: float) -> list[float | None]:
    """Return the rows read per second over 15 minutes, one value for each of 60 slots."""
    slots: list[float | None] = [None] * SPARK_POINTS
    for sample in samples:
        slot = int((sample["at"] - now + SPARK_SECONDS) / SPARK_SECONDS * SPARK_POINTS)
        if 0 <= slot < SPARK_POINTS and sample.get("rate_in") is not None:
            slots[slot] = sample["rate_in"]
    return slots


def _append(columns: Columns, sample: Mapping[str, Any]) -> None:
    columns["t"].append(sample["at"])
    for name in columns:
        if name == "watermark_delay":
            delay = sample.get("watermark_delay_ms")
            columns[name].append(None if delay is None else delay / 1000)
        elif name != "t":
            columns[name].append(sample.get(_NAMES.get(name, name)))
