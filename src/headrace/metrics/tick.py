"""One tick: the metrics of a run at one moment, as a JSON document."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headrace.connectors.retry import RETRIES
from headrace.metrics.flow import Edges, rows_at_edges, rows_of
from headrace.metrics.rates import Rates
from headrace.plan.queries import queries_of
from headrace.runtime.progress.delays import Delays
from headrace.runtime.progress.log import parse_time
from headrace.steps.base import DEAD_LETTERS, Node, Ref

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.progress.status import QueryStatus, Status

TOTALS = ("rows_in", "rows_out", "late", "dead_letters", "mismatches")
"""Counters of a job that continue over its attempts."""
STEP_TOTALS = ("rows_in", "rows_out", "late", "dead_letters")
"""Counters of a step that continue over the attempts of a job."""
DELAY_SECONDS = 60.0
"""The period over which event latencies are computed."""
MAX_MISMATCHES = 10
_NO_PERCENTILES = {"p50": None, "p95": None, "p99": None}


class TickBuilder:
    """Builds the documents of one run."""

    def __init__(self, graph: Graph, before: Mapping[str, Any] | None = None) -> None:
        """Build ticks of a plan; `before` is the last tick of the earlier runs of the job."""
        self._graph = graph
        self._queries = queries_of(graph)
        metrics, steps = (before or {}).get("metrics") or {}, (before or {}).get("steps") or {}
        self._before = {name: int(metrics.get(name) or 0) for name in TOTALS}
        self._steps_before: Mapping[str, Mapping[str, Any]] = steps
        self._rates = Rates()
        self._delays: deque[tuple[float, Delays]] = deque()

    def build(self, status: Status) -> dict[str, Any]:
        """Return the document of the present status."""
        edges = rows_at_edges(self._graph, self._queries, status)
        totals = self._totals(status)
        steps = {node.name: _step(node, edges, status) for node in self._graph}
        for source, partitions in self._partitions(status):
            steps[source]["partitions"] = partitions
        batch = (status.latency_ms or 0) / 1000
        counters = _counters(totals, steps) | {f"{each.name} busy": each.busy_ms for each in status.queries}
        rates = self._rates.add(time.monotonic(), counters, batch)
        for name, step in steps.items():
            step["rate_in"], step["rate_out"] = rates.get(f"{name} in"), rates.get(f"{name} out")
        return {
            "phase": status.phase,
            "metrics": {
                **totals,
                "rate_in": rates["rows_in"],
                "rate_out": rates["rows_out"],
                **self._measurements(status),
            },
            "steps": {name: self._continue(name, step) for name, step in steps.items()},
            "queries": {query.name: _query(query, rates) for query in status.queries},
            "lag_by_partition": _lags(status),
            "mismatches": [asdict(each) for each in status.mismatches[-MAX_MISMATCHES:]],
            "out_of_order": _out_of_order(status.delays),
        }

    def _partitions(self, status: Status) -> Iterator[tuple[str, dict[str, list[int]]]]:
        """Yield records read and lag of each partition, for sources that are alone in a query."""
        measured = {query.name: query for query in status.queries}
        for query in self._queries:
            figures = measured.get(query.name)
            if len(query.sources) == 1 and figures is not None and (figures.reads or figures.lag):
                names = sorted(figures.reads | figures.lag, key=natural)
                counts = {name: [figures.reads.get(name, 0), figures.lag.get(name, 0)] for name in names}
                yield query.sources[0], counts

    def _totals(self, status: Status) -> dict[str, int]:
        """Return the counters of this run and all earlier ones."""
        now = {
            "rows_in": status.rows_in,
            "rows_out": status.rows_out,
            "late": status.late,
            "dead_letters": status.dead_letters,
            "mismatches": status.mismatch_count,
        }
        return {name: now[name] + self._before[name] for name in TOTALS}

    def _continue(self, name: str, step: dict[str, Any]) -> dict[str, Any]:
        """Add the counters of earlier runs to those of a step; None: never counted."""
        before = self._steps_before.get(name, {})
        counted = {each: before[each] for each in STEP_TOTALS if before.get(each) is not None}
        continued = step | {each: (step[each] or 0) + rows for each, rows in counted.items()}
        if violated := {**before.get("violated", {}), **step.get("violated", {})}:
            sums = [before.get("violated", {}), step.get("violated", {})]
            continued["violated"] = {rule: sum(each.get(rule, 0) for each in sums) for rule in violated}
        return continued

    def _measurements(self, status: Status) -> dict[str, Any]:
        lags = _lags(status)
        reported = bool(status.queries) and all(query.epoch >= 0 for query in status.queries)
        event_latency = self._recent_delays(status.delays).latency(status.latency_ms or 0)
        return {
            "watermark": status.watermark,
            "watermark_delay_ms": watermark_delay(status.watermark),
            "slowest_partition": status.slowest_partition,
            "lag": sum(lags.values()) if lags else None,
            "messages_dropped": sum(each.dropped for each in status.receptions.values()),
            "latency_ms": asdict(status.latency) if status.latency else _NO_PERCENTILES,
            "event_latency_ms": asdict(event_latency) if event_latency else _NO_PERCENTILES,
            "batch_ms": status.latency_ms,
            "state_rows": sum(query.state_rows for query in status.queries) if reported else None,
            "state_bytes": sum(query.state_bytes for query in status.queries) if reported else None,
            "in_open_windows": status.in_open_windows,
            "retries": RETRIES.value,
        }

    def _recent_delays(self, delays: Delays) -> Delays:
        now = time.monotonic()
        self._delays.append((now, delays))
        while len(self._delays) > 2 and self._delays[1][0] <= now - DELAY_SECONDS:
            self._delays.popleft()
        first = self._delays[0][1] if len(self._delays) > 1 else Delays()
        return delays.since(first)


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key in which numbers are in their order.

    >>> sorted(["tx-10", "tx-9"], key=natural)
    ['tx-9', 'tx-10']
    """
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def watermark_delay(watermark: str | None) -> int | None:
    """Return clock minus watermark in milliseconds; None after a drain (watermark at the end of time)."""
    if watermark is None or watermark.startswith("9999-"):
        return None
    return round((time.time() - parse_time(watermark)) * 1000)


def _counters(totals: Mapping[str, int], steps: Mapping[str, dict[str, Any]]) -> dict[str, int]:
    counters = {"rows_in": totals["rows_in"], "rows_out": totals["rows_out"]}
    for name, step in steps.items():
        for side in ("in", "out"):
            if step[f"rows_{side}"] is not None:
                counters[f"{name} {side}"] = step[f"rows_{side}"]
    return counters


def _step(node: Node, edges: Edges, status: Status) -> dict[str, Any]:
    rows_in, rows_out = rows_of(node, edges)
    accounting = status.steps.get(node.name)
    details: dict[str, Any] = {
        "rows_in": rows_in,
        "rows_out": status.sinks.get(node.name, rows_out),
        "late": accounting.late if accounting else 0,
        "dead_letters": _dead_letters(node, edges, status),
    }
    if (ledger_epoch := status.ledgers.get(node.name)) is not None:
        details["ledger_epoch"] = ledger_epoch
    if (rules := status.rules.get(node.name)) is not None:
        details["rules"] = {"in_force": rules.in_force, "faults": list(rules.faults)}
    if (reception := status.receptions.get(node.name)) is not None:
        details["reception"] = asdict(reception)
    details.update(status.calls.get(node.name, {}))
    if accounting is not None:
        terms = asdict(accounting)
        if violated := terms.pop("violated"):
            details["violated"] = violated
        details["accounting"] = {name: value for name, value in terms.items() if value}
        details["balanced"] = accounting.balanced
    return details


def _dead_letters(node: Node, edges: Edges, status: Status) -> int:
    """Return the dead letters of a source or function as counted, those of other steps as written."""
    written = edges.get(Ref(node.name, DEAD_LETTERS), 0)
    return status.dead_letters_of.get(node.name, written)


def _query(query: QueryStatus, rates: Mapping[str, float]) -> dict[str, Any]:
    return {
        "epoch": query.epoch,
        "rows_in": query.rows_in,
        "late": query.late,
        "watermark": query.watermark,
        "batch_ms": query.batch_ms,
        "phases_ms": query.phases,
        "state_rows": query.state_rows,
        "state_bytes": query.state_bytes,
        "busy": round(min(1.0, rates[f"{query.name} busy"] / 1000), 3),
    }


def _lags(status: Status) -> dict[str, int]:
    """Return the lag of each partition; if several queries read it, that of the slowest.

    That of a source with a write-ahead log is the backlog of the log.
    """
    lags: dict[str, int] = {}
    for query in status.queries:
        for partition, lag in query.lag.items():
            lags[partition] = max(lag, lags.get(partition, 0))
    return lags | {f"{source}-log": counts.backlog for source, counts in status.receptions.items()}


def _out_of_order(delays: Delays) -> dict[str, Any] | None:
    if not delays:
        return None
    histogram = sorted(delays.out_of_order.items())
    return {"histogram_ms": histogram, "recommended_ms": delays.recommend_out_of_order()}
