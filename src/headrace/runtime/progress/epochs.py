"""Read rows, phases, lag and state size from Spark's progress reports; percentiles of latency."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_HEARTBEAT = "heartbeat of "


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of a duration, in milliseconds."""

    p50: float
    p95: float
    p99: float


def rows_read(report: Mapping[str, Any]) -> int:
    """Return the number of rows that a batch has read, without heartbeats."""
    return sum(int(source["numInputRows"]) for source in _sources(report))


def phases_of(report: Mapping[str, Any]) -> dict[str, int]:
    """Return the duration of each phase of a batch in milliseconds, as Spark names them."""
    durations = report.get("durationMs", {})
    return {phase: int(ms) for phase, ms in durations.items() if phase != "triggerExecution"}


def state_bytes_of(report: Mapping[str, Any]) -> int:
    """Return the memory of the state stores, and the size of their files if the report has it."""
    return sum(_bytes_of(operator) for operator in report.get("stateOperators", []))


def lag_of(report: Mapping[str, Any]) -> dict[str, int]:
    """Return the unread records per partition; empty if the sources do not report it.

    >>> source = {"endOffset": {"tx": {"0": 7}}, "latestOffset": {"tx": {"0": 9}}, "description": ""}
    >>> lag_of({"sources": [source]})
    {'tx-0': 2}
    """
    lag: dict[str, int] = {}
    for source in _sources(report):
        end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        lag |= {name: max(0, offset - end.get(name, 0)) for name, offset in latest.items()}
    return lag


def reads_of(report: Mapping[str, Any]) -> dict[str, int]:
    """Return the records that a batch has read per partition; empty if the sources do not report it.

    >>> source = {"startOffset": {"tx": {"0": 7}}, "endOffset": {"tx": {"0": 9}}, "description": ""}
    >>> reads_of({"sources": [source]})
    {'tx-0': 2}
    """
    reads: dict[str, int] = {}
    for source in _sources(report):
        start, end = _offsets(source.get("startOffset")), _offsets(source.get("endOffset"))
        reads |= {name: max(0, offset - start.get(name, 0)) for name, offset in end.items() if start}
    return reads


def percentiles_of(durations: Iterable[tuple[float, int]]) -> Percentiles | None:
    """Return percentiles of durations that are weighted by rows; None without rows.

    >>> percentiles_of([(100, 98), (900, 2)])
    Percentiles(p50=100, p95=100, p99=900)
    """
    ordered = sorted((duration, rows) for duration, rows in durations if rows)
    total = sum(rows for _, rows in ordered)
    if not total:
        return None
    return Percentiles(*(_percentile(ordered, total * share) for share in (0.5, 0.95, 0.99)))


def _sources(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the reports of the sources of a batch, without heartbeat sources."""
    return [source for source in report.get("sources", []) if _HEARTBEAT not in source["description"]]


def _percentile(ordered: list[tuple[float, int]], rank: float) -> float:
    passed = 0
    for duration, rows in ordered:
        passed += rows
        if passed >= rank:
            return duration
    return ordered[-1][0]


def _bytes_of(operator: Mapping[str, Any]) -> int:
    custom = operator.get("customMetrics", {})
    return int(operator.get("memoryUsedBytes", 0)) + int(custom.get("rocksdbSstFileSize", 0))


def _offsets(reported: Any) -> dict[str, int]:
    """Return offsets of the form `{"topic": {"0": 12}}` by `topic-0`; empty for other forms."""
    offsets = _parse(reported)
    if not isinstance(offsets, dict):
        return {}
    partitions = [(topic, each) for topic, each in offsets.items() if isinstance(each, dict)]
    return {
        f"{topic}-{number}": int(offset)
        for topic, each in partitions
        for number, offset in each.items()
        if isinstance(offset, int)
    }


def _parse(reported: Any) -> Any:
    if not isinstance(reported, str):
        return reported
    try:
        return json.loads(reported)
    except ValueError:
        return None
