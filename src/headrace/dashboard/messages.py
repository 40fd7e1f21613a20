"""The messages of the live stream: figures as the text that the pages show, and points for the charts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.dashboard import formatting as text
from headrace.dashboard.charts import ALL
from headrace.dashboard.feeds.base import JobFigures, JobView, StepFigures
from headrace.dashboard.health import actions_of, health_of, judged, summary_of

BUSY = 0.9
"""The busy share from which on a step can be the cause of backpressure."""
IDLE = 0.02
"""The busy share below which a step is idle."""
BACKLOG_SECONDS = 10.0
"""The backlog, in seconds of input, from which on a busy step counts as backpressured."""
_MESSAGES = ("received", "stored", "duplicates", "dropped", "refused")
"""The counts of a source with a write-ahead log; its backlog is shown as its lag."""
_SLOW = 1.0
"""The rate in rows per second below which rates are shown per minute."""

POINTS = tuple(dict.fromkeys(column for chart in ALL for column, _ in chart.series))


def jobs_message(jobs: Sequence[JobView]) -> dict[str, Any]:
    """Return the message of the jobs page."""
    summary = summary_of(jobs)
    return {
        "t": time.time(),
        "summary": {"severity": summary.severity, "icon": summary.icon, "reason": summary.reason},
        "jobs": {job.id: job_cells(job) for job in jobs},
    }


def job_cells(job: JobView) -> dict[str, Any]:
    """Return the cells of a job in the table of jobs."""
    figures, health = job.figures, health_of(job)
    return {
        "severity": health.severity,
        "state": f"{health.icon} {health.word}",
        "reason": health.reason,
        "recent": text.sparkline(job.recent),
        "rate": text.number(figures.rate_in, "rows/s") if figures.rate_in is not None else text.NOTHING,
        "p99": text.milliseconds(figures.p99),
        "lag": text.count(figures.lag),
        "delay": _delay(figures),
        "late": text.count(figures.late),
        "dead_letters": text.count(figures.dead_letters),
        "restarts": text.count(job.restarts),
        "age": text.age(job.created),
    }


def job_message(job: JobView, graph: dict[str, Any] | None) -> dict[str, Any]:
    """Return the message of the pages of one job."""
    health = health_of(job)
    nodes = {} if graph is None else {node["id"]: node_figures(job, node) for node in graph["nodes"]}
    edges = [] if graph is None else graph["edges"]
    into = Counter(edge["target"] for edge in edges)
    return {
        "t": time.time(),
        "severity": health.severity,
        "state": f"{health.icon} {health.word}",
        "reason": health.reason,
        "judged": judged(job) if job.state == "running" else "",
        "warned": job.warned,
        "actions": list(actions_of(job.state)),
        "kpi": kpis_of(job),
        "nodes": nodes,
        "edges": {edge["id"]: _edge(edge, nodes, into[edge["target"]] == 1) for edge in edges},
    }


def kpis_of(job: JobView) -> dict[str, str]:
    """Return the figures at the top of a job's pages."""
    figures = job.figures
    state = figures.state_bytes
    return {
        "rate": text.number(figures.rate_in, "rows/s") if figures.rate_in is not None else text.NOTHING,
        "p99": text.milliseconds(figures.p99),
        "lag": text.number(figures.lag, "rows") if figures.lag is not None else text.NOTHING,
        "unreported": "not reported by the sources" if job.state == "running" and figures.lag is None else "",
        "delay": _delay(figures),
        "watermark": text.utc(figures.watermark) if figures.watermark else "",
        "slowest": figures.slowest_partition and f"slowest: {figures.slowest_partition}",
        "state": text.number(state, "B") if state is not None else text.number(figures.state_rows),
        "late": text.count(figures.late),
        "dead_letters": text.count(figures.dead_letters),
    }


def _delay(figures: JobFigures) -> str:
    """Return the watermark delay, which says nothing about the job if its rows are old."""
    return "Replay" if figures.replays else text.duration(figures.watermark_delay)


def node_figures(job: JobView, node: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a node of the graph: those of its steps together."""
    parts = [figures for name in node["parts"] if (figures := job.figures.steps.get(name))]
    step = parts[0] if len(parts) == 1 else _merge(parts)
    return {
        "in": _rate(step.rate_in),
        "out": _rate(step.rate_out),
        "rows_in": text.count(step.rows_in),
        "rows_out": text.count(step.rows_out),
        "busy": None if step.busy is None else round(step.busy, 2),
        "busy_share": "" if step.busy is None else f"{step.busy:.0%}".replace("%", " %"),
        "state": _state(step),
        "late": step.late,
        "dead_letters": step.dead_letters,
        "lag": text.count(step.lag),
        "reception": {name: text.count(step.reception[name]) for name in _MESSAGES if step.reception},
        "watermark": text.utc(step.watermark),
        "pressure": node["stateful"] and _is_backpressured(step),
        "load": _load(node, step),
        "rows": _rows(node, step),
        "skew": text.times(skew_of(step.partitions)) if step.partitions else "",
        "balanced": step.balanced,
        "failed": job.state in ("failed", "restarting") and is_named(node["id"], job.error or ""),
        "accounting": dict(step.accounting),
        "violated": dict(step.violated),
        "violated_in": next((name for name in node["parts"] if _violations(job, name)), ""),
        "rules": dict(step.rules),
        "faults": list(step.faults),
    }


def _violations(job: JobView, step: str) -> Mapping[str, int]:
    figures = job.figures.steps.get(step)
    return {} if figures is None else figures.violated


def is_named(step: str, error: str) -> bool:
    """True if the first line of an error names a step, as its place or in the text.

    >>> is_named("orders", "orders: no such file"), is_named("order", "orders: no such file")
    (True, False)
    >>> is_named("out", "DeliveryError: sink `out`: the webhook answered 503")
    True
    """
    first = error.partition("\n")[0]
    return first.startswith(f"{step}:") or f"`{step}`" in first


def partitions_of(job: JobView, node: Mapping[str, Any]) -> list[tuple[str, int, int, float]]:
    """Return the partitions of a source: name, records read, lag, and the share of the busiest one."""
    figures = job.figures.steps.get(node["parts"][0])
    partitions = figures.partitions if figures is not None else {}
    most = max((read for read, _ in partitions.values()), default=0)
    return [
        (name, read, lag, round(read / most, 3) if most else 0.0) for name, (read, lag) in partitions.items()
    ]


def skew_of(partitions: Mapping[str, tuple[int, int]]) -> float:
    """Return how many times more records than on average the busiest partition has delivered.

    >>> skew_of({"tx-0": (10, 0), "tx-1": (50, 0)}), skew_of({"tx-0": (0, 7)})
    (1.6666666666666667, 1.0)
    """
    reads = [read for read, _ in partitions.values()]
    return max(reads) * len(reads) / sum(reads) if sum(reads) else 1.0


def _load(node: Mapping[str, Any], step: StepFigures) -> str:
    """Return the load of a step in a word: idle, ok, busy, or backpressure if its source has a backlog."""
    if step.busy is None:
        return ""
    if node["stateful"] and _is_backpressured(step):
        return "backpressure"
    return "busy" if step.busy >= BUSY else "ok" if step.busy >= IDLE else "idle"


def _rows(node: Mapping[str, Any], step: StepFigures) -> str:
    """Return the rows in and out of a node since the job was submitted."""
    ends = {"source": (step.rows_out,), "sink": (step.rows_out,)}.get(
        node.get("kind", ""), (step.rows_in, step.rows_out)
    )
    known = [text.number(rows) for rows in ends if rows is not None]
    return f"{' → '.join(known)} {'row' if known == ['1'] else 'rows'}" if known else ""


def _merge(parts: list[StepFigures]) -> StepFigures:
    """Return the input figures of the first part, the output figures of the last and the state of any."""
    if not parts:
        return StepFigures()
    first, last = parts[0], parts[-1]
    stateful = next((part for part in parts if part.accounting), last)
    return StepFigures(
        rows_in=first.rows_in,
        rows_out=last.rows_out,
        rate_in=first.rate_in,
        rate_out=last.rate_out,
        late=sum(part.late for part in parts),
        dead_letters=sum(part.dead_letters for part in parts),
        busy=max((part.busy for part in parts if part.busy is not None), default=None),
        state_rows=stateful.state_rows,
        state_bytes=stateful.state_bytes,
        watermark=next((part.watermark for part in parts if part.watermark), None),
        lag=first.lag,
        partitions=first.partitions,
        reception=first.reception,
        accounting=stateful.accounting,
        balanced=stateful.balanced,
        violated=next((part.violated for part in parts if part.violated), {}),
        rules=next((part.rules for part in parts if part.rules), {}),
        faults=next((part.faults for part in parts if part.faults), ()),
    )


def _state(step: StepFigures) -> str:
    """Return the size of the state: rows, if Spark is configured to count them, otherwise bytes."""
    if step.state_rows:
        return text.number(step.state_rows, "rows")
    return text.number(step.state_bytes, "B") if step.state_bytes else ""


def _is_backpressured(step: StepFigures) -> bool:
    """True if the step is busy and the source has a backlog; a smaller one is read with the next batch."""
    if not step.lag or (step.busy is not None and step.busy < BUSY):
        return False
    return step.rate_in is not None and step.lag > BACKLOG_SECONDS * step.rate_in


def _edge(edge: dict[str, Any], nodes: dict[str, dict[str, Any]], alone: bool) -> dict[str, Any]:
    """Return the rate of an edge: that into its target if it is `alone` there, else that of a main output."""
    source, target = nodes[edge["source"]], nodes[edge["target"]]
    main = "" if edge["output"] else source["out"] or target["in"]
    return {"label": (target["in"] if alone else "") or main, "pressure": target["pressure"]}


def _rate(value: float | None) -> str:
    """Format the rate of a step; empty if it is not measured."""
    if value is None:
        return ""
    return f"{text.number(60 * value)}/min" if 0 < value < _SLOW else f"{text.number(value)}/s"
