"""The history of metrics: samples every 10 seconds, down-sampled to minutes and hours."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.jobs.store.database import Database

LEVELS = ((10, 6 * 3600), (60, 2 * 86_400), (600, 14 * 86_400), (3600, 365 * 86_400))
"""Resolution and retention of samples, in seconds."""
SERIES = (
    "rate_in",
    "rate_out",
    "rows_in",
    "rows_out",
    "late",
    "dead_letters",
    "lag",
    "watermark_delay_ms",
    "batch_ms",
    "state_rows",
    "state_bytes",
    "restarts",
    "mismatches",
)
_PERCENTILES = ("latency_ms", "event_latency_ms")
_PEAKS = ("lag", "watermark_delay_ms", "batch_ms", "phase/")
MAX_PARTITIONS = 5
"""The number of partitions whose lag is stored; those with the highest lag."""


class History:
    """Samples of the metrics of all jobs in the store.

    A sample has the last value of each metric in its interval; of latency, lag and delay, the highest.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._next_cleaning = 0.0

    def add(
        self, job: str, at: float, metrics: Mapping[str, Any], details: Mapping[str, float] | None = None
    ) -> None:
        """Add the metrics of a tick, and details of its parts, at every resolution."""
        sample = {**flatten(metrics), **(details or {})}
        with self._database.transaction():
            for resolution, _ in LEVELS:
                self._merge(job, resolution, int(at // resolution * resolution), sample)

    def read(self, job: str, since: float, until: float, points: int = 500) -> list[dict[str, Any]]:
        """Return samples of a job in time order, at the finest resolution with at most `points` samples."""
        resolution = choose_resolution(since, until, points)
        condition = "job = ? AND resolution = ? AND at >= ? AND at <= ?"
        query = f"SELECT at, document FROM samples WHERE {condition} ORDER BY at"
        rows = self._database.rows(query, (job, resolution, int(since) - resolution, int(until)))
        return [{"at": row["at"], **json.loads(row["document"])} for row in rows]

    def counter(self, job: str, name: str, since: float) -> list[tuple[float, float]]:
        """Return times and values of a counter: the last sample before `since`, and the finest later ones."""
        query = "SELECT at, document FROM samples WHERE job = ? AND "
        before = self._database.rows(
            f"{query} at < ? ORDER BY at DESC, resolution LIMIT 1", (job, int(since))
        )
        later = f"{query} at >= ? AND resolution = ? ORDER BY at"
        rows = before + self._database.rows(later, (job, int(since), LEVELS[0][0]))
        return [(float(row["at"]), float(json.loads(row["document"]).get(name, 0))) for row in rows]

    def clean_if_due(self) -> None:
        """Delete samples that are too old, once a minute."""
        now = time.time()
        if now < self._next_cleaning:
            return
        self._next_cleaning = now + 60
        for resolution, seconds in LEVELS:
            statement = "DELETE FROM samples WHERE resolution = ? AND at < ?"
            self._database.execute(statement, (resolution, int(now - seconds)))

    def _merge(self, job: str, resolution: int, at: int, sample: dict[str, Any]) -> None:
        key = (job, resolution, at)
        stored = self._database.rows(
            "SELECT document FROM samples WHERE job = ? AND resolution = ? AND at = ?", key
        )
        document = json.dumps(
            merge(json.loads(stored[0]["document"]), sample) if stored else sample, separators=(",", ":")
        )
        if stored:
            statement = "UPDATE samples SET document = ? WHERE job = ? AND resolution = ? AND at = ?"
            self._database.execute(statement, (document, *key))
        else:
            statement = "INSERT INTO samples (job, resolution, at, document) VALUES (?, ?, ?, ?)"
            self._database.execute(statement, (*key, document))


def flatten(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of a tick under flat names, without those that are missing.

    >>> flatten({"rows_in": 5, "lag": None, "latency_ms": {"p50": 1.0, "p95": 2.0, "p99": 3.25}})
    {'rows_in': 5, 'latency_ms_p50': 1.0, 'latency_ms_p95': 2.0, 'latency_ms_p99': 3.25}
    """
    flat = {name: metrics.get(name) for name in SERIES}
    for name in _PERCENTILES:
        flat |= {f"{name}_{percentile}": value for percentile, value in (metrics.get(name) or {}).items()}
    return {name: _round(value) for name, value in flat.items() if value is not None}


def details_of(tick: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of the parts of a job: rates of steps, phases of batches, lag of partitions.

    >>> tick = {"steps": {"a": {"rate_in": 2.0}}, "queries": {"q": {"phases_ms": {"addBatch": 7}}}}
    >>> details_of(tick | {"lag_by_partition": {"tx-0": 3}})
    {'in/a': 2.0, 'phase/addBatch': 7, 'lag/tx-0': 3}
    """
    details: dict[str, float] = {}
    for name, step in (tick.get("steps") or {}).items():
        rates = {f"{side}/{name}": step.get(f"rate_{side}") for side in ("in", "out")}
        details |= {series: _round(rate) for series, rate in rates.items() if rate is not None}
    for query in (tick.get("queries") or {}).values():
        for phase, milliseconds in (query.get("phases_ms") or {}).items():
            details[f"phase/{phase}"] = max(milliseconds, details.get(f"phase/{phase}", 0))
    lags = sorted((tick.get("lag_by_partition") or {}).items(), key=lambda item: -item[1])
    return details | {f"lag/{partition}": lag for partition, lag in lags[:MAX_PARTITIONS]}


def merge(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Combine two samples of one interval: the later one, but the higher latency, lag and delay."""
    peaks = {
        name: max(earlier[name], later[name])
        for name in later
        if name in earlier and (name.startswith(_PEAKS) or "latency_ms" in name)
    }
    return {**earlier, **later, **peaks}


def choose_resolution(
    since: float, until: float, points: int, levels: Sequence[tuple[int, int]] = LEVELS
) -> int:
    """Return the finest resolution that has samples from `since` on, and at most `points` of them.

    >>> choose_resolution(time.time() - 900, time.time(), 500), choose_resolution(0, time.time(), 500)
    (10, 3600)
    """
    age = time.time() - since
    for resolution, retention in levels:
        if age <= retention and (until - since) / resolution <= points:
            return resolution
    return levels[-1][0]


def _round(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
