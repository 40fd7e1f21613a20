"""Jobs as text on the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from headrace.cli.terminal.output import show, show_json, show_table
from headrace.runtime.progress.status_text import format_elapsed, format_time

_STYLES = {"running": "good", "failed": "bad", "killed": "warn", "restarting": "warn"}
_HEADINGS = ("id", "name", "state", "in", "out", "late", "dead letters", "lag", "p99 ms", "attempts", "age")
LAST_ATTEMPTS = 5
"""The attempts that `describe_job` prints; `--json` has all."""


def list_jobs(jobs: list[dict[str, Any]]) -> None:
    """Print a table of jobs."""
    if not jobs:
        show("no jobs; submit one: headrace jobs submit FILE")
        return
    styles = ["heading", *(_STYLES.get(job["state"], "") for job in jobs)]
    show_table(_HEADINGS, [_cells(job) for job in jobs], styles)


def show_state(job: dict[str, Any], json: bool) -> None:
    """Print id and state of a job that a request has changed."""
    show_json(job) if json else show(f"{job['id']} {job['state']}")


def describe_job(job: dict[str, Any]) -> None:
    """Print a job as lines of names and values."""
    for name, value in _facts(job):
        show(f"{name:<14} {value}")


def _cells(job: dict[str, Any]) -> tuple[str, ...]:
    metrics = job["metrics"]
    numbers = [metrics[name] for name in ("rows_in", "rows_out", "late", "dead_letters", "lag")]
    numbers += [metrics["latency_ms"]["p99"], job["attempts"]]
    age = format_elapsed(time.time() - job["created"])
    return (job["id"], job["name"], job["state"], *map(_number, numbers), age)


def _facts(job: dict[str, Any]) -> Iterator[tuple[str, str]]:
    metrics, latency = job["metrics"], job["metrics"]["latency_ms"]
    yield "job", f"{job['id']}  {job['name']}"
    yield "state", job["state"] + (f" ({job['phase']})" if job.get("phase") else "")
    yield "owner", job["owner"]
    yield "version", job["version"]
    yield "attempts", f"{job['attempts']}, {job['restarts']} restarts"
    for attempt in job.get("history", ())[-LAST_ATTEMPTS:]:
        yield f"attempt {attempt['number']}", _describe_attempt(attempt)
    yield "pid", str(job["pid"] or "-")
    if job["exit_reason"]:
        yield "exit reason", job["exit_reason"]
    if job["error"]:
        yield "error", job["error"]
    yield "rows", f"{_number(metrics['rows_in'])} in, {_number(metrics['rows_out'])} out"
    yield "late", _number(metrics["late"])
    yield "dead letters", _number(metrics["dead_letters"])
    yield "watermark", format_time(metrics["watermark"]) if metrics["watermark"] else "-"
    yield "lag", _number(metrics["lag"])
    yield "latency", ", ".join(f"{name} {_number(latency[name])} ms" for name in ("p50", "p95", "p99"))


def _describe_attempt(attempt: dict[str, Any]) -> str:
    """Return start, duration and exit reason of an attempt; only the first line of the reason."""
    started = f"started {format_time(datetime.fromtimestamp(attempt['started'], UTC).isoformat()[:19])} UTC"
    if attempt["ended"] is None:
        return started
    reason = (attempt["exit_reason"] or "unknown").partition("\n")[0]
    return f"{started}, ended after {format_elapsed(attempt['ended'] - attempt['started'])}: {reason}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
