"""The conditions of rules, evaluated on the ticks of a job."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.metrics.alerts.rules import AlertRule


@dataclass(frozen=True)
class Finding:
    """The present value of a rule, and a message if its condition holds."""

    value: float
    message: str | None = None


COUNTERS = {"restarts": "restarts", "row_accounting": "mismatches"}
"""The counters that conditions compare with their value one period ago."""


@dataclass
class JobMemory:
    """Counters of a job at earlier ticks."""

    counters: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    """Times and values by rule; each rule has a period of its own."""
    rows_in: tuple[float, float] | None = None
    """The last change of the rows read: time and value."""
    mismatch: Mapping[str, Any] | None = None
    """The last mismatch of row accounting; a later attempt no longer reports it."""


def evaluate(rule: AlertRule, job: Mapping[str, Any], memory: JobMemory, now: float) -> Finding:
    """Return the value of a rule for a job."""
    if rule.alert == "failed":
        message = f"the job failed: {job.get('error')}" if job["state"] == "failed" else None
        return Finding(float(message is not None), message)
    if rule.alert in COUNTERS:
        return _growth(rule, job, memory, now)
    if job["state"] not in ("running", "draining"):
        memory.rows_in = None
        return Finding(0.0)
    if rule.alert == "no_data":
        return _no_data(rule, job["metrics"], memory, now)
    return _threshold(rule, job["metrics"])


def _threshold(rule: AlertRule, metrics: Mapping[str, Any]) -> Finding:
    latency = (metrics.get("latency_ms") or {}).get("p99")
    delay = metrics.get("watermark_delay_ms")
    values = {
        "lag": (metrics.get("lag"), "records are not read"),
        "latency": (None if latency is None else latency / 1000, "from ingestion to sink (p99)"),
        "watermark_delay": (None if delay is None else delay / 1000, "between clock and watermark"),
    }
    value, text = values[rule.alert]
    number = float(value or 0)
    formatted = _format(number) if rule.alert == "lag" else _format_seconds(number)
    return Finding(number, f"{formatted} {text}" if number > rule.above else None)


def _format(number: float) -> str:
    """Format a number with three significant digits, without an exponent.

    >>> _format(1_234_567), _format(0.25)
    ('1,230,000', '0.25')
    """
    return f"{float(f'{number:.3g}'):,.10g}"


def _format_seconds(seconds: float) -> str:
    """Format a duration in the largest unit of which it has at least two.

    >>> _format_seconds(6.5), _format_seconds(22_100)
    ('6.5 seconds', '6.14 hours')
    """
    units = ((86_400, "days"), (3600, "hours"), (60, "minutes"))
    size, unit = next(((size, unit) for size, unit in units if seconds >= 2 * size), (1, "seconds"))
    return f"{_format(seconds / size)} {unit}"


def _no_data(rule: AlertRule, metrics: Mapping[str, Any], memory: JobMemory, now: float) -> Finding:
    rows = float(metrics.get("rows_in") or 0)
    if memory.rows_in is None or memory.rows_in[1] != rows:
        memory.rows_in = (now, rows)
    quiet = now - memory.rows_in[0]
    return Finding(quiet, f"no rows for {quiet:,.0f} seconds" if quiet > rule.above else None)


def _growth(rule: AlertRule, job: Mapping[str, Any], memory: JobMemory, now: float) -> Finding:
    """Compare a counter with its value one period ago, which is 0 before the first tick."""
    name = COUNTERS[rule.alert]
    value = float(job["metrics"].get(name) or 0)
    past = memory.counters.setdefault(rule.label, deque())
    if not past:
        past.append((now, 0.0))
    if value != past[-1][1]:
        past.append((now, value))
    while len(past) > 1 and past[1][0] < now - rule.period:
        past.popleft()
    recent = value - past[0][1] if past[-1][0] >= now - rule.period else 0.0
    text = f"{recent:,.0f} restarts" if name == "restarts" else _describe_mismatch(job, memory)
    return Finding(recent, text if recent > rule.above else None)


def _describe_mismatch(job: Mapping[str, Any], memory: JobMemory) -> str:
    if reported := job.get("mismatches"):
        memory.mismatch = reported[-1]
    last = memory.mismatch
    if last is None:
        return "rows do not add up"
    place = f"`{last['step']}`, epoch {last['epoch']}"
    return f"rows do not add up: {place}: expected {last['expected']}, accounted for {last['actual']}"
