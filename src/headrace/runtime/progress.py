"""What a run has done so far, from Spark's progress reports."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headrace.plan.queries import Query
from headrace.runtime.row_accounting import Balance
from headrace.spark.gateway import GatewayError, is_connected, java_session, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECENT = 64
_SETTLE_SECONDS = 30.0
"""Spark's thread of reports may be far behind on a machine that is busy; it drops some only if thousands are waiting."""


@dataclass(frozen=True)
class QueryStatus:
    """One query: its last epoch, its rows, its watermark, its state."""

    name: str
    epoch: int = -1
    rows_in: int = 0
    late: int = 0
    watermark: str | None = None
    state_rows: int = 0
    batch_ms: int = 0


@dataclass(frozen=True)
class RulesStatus:
    """The rules of a step: the versions in force, by id, and what is wrong with the table as it was last read."""

    in_force: dict[str, int]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Status:
    """A run at one moment. `late` is the sum over all steps: rows diverted, and rows that Spark's own operators dropped."""

    active: bool
    rows_in: int
    rows_out: int
    rate: float
    """Rows read per second over the last batches."""
    latency_ms: float | None
    """The median time of the last batches, from when they were triggered to when they were delivered."""
    watermark: str | None
    late: int
    dead_letters: int
    queries: tuple[QueryStatus, ...] = ()
    sinks: dict[str, int] = field(default_factory=dict)
    steps: dict[str, Balance] = field(default_factory=dict)
    """Where the rows of each stateful step in the kernel went."""
    rules: dict[str, RulesStatus] = field(default_factory=dict)
    """Of each step that takes its patterns from a table."""
    counted: bool = True
    """Whether rows are counted on their way out, late ones and dead letters too; in real time they are not."""

    @property
    def open(self) -> int:
        """Rows that are in open windows or wait for them; one that is in several windows counts for each."""
        return sum(step.open + step.waiting for step in self.steps.values())

    @property
    def lost(self) -> int:
        """Rows of windows that are over, which no pane has shown: where a trigger may lose them, or `ttl` drops them."""
        return sum(step.lost + step.forgotten for step in self.steps.values())


class ProgressLog:
    """Listens to the queries of one run."""

    def __init__(
        self,
        queries: Sequence[Query] = (),
        heard: Callable[[str, dict[str, Any]], None] = lambda query, report: None,
    ) -> None:
        """Follow these queries; a source that several of them read is counted by the first.

        `heard` is called with each report, when its epoch is done, and the query's name.
        """
        self._heard = heard
        self._reports: Any = None
        self._spark: Any = None
        self._settling = threading.Event()
        self._counted = _first_readers(queries)
        self._names: dict[str, str] = {}
        self._early: deque[tuple[str, dict[str, Any]]] = deque(maxlen=RECENT)
        self._queries: dict[str, QueryStatus] = {}
        self._recent: deque[tuple[float, int, int]] = deque(maxlen=RECENT)
        self._event_time: tuple[float | None, float] = (None, time.time())
        self._terminated: set[str] = set()
        self._silent = False
        self._changed = threading.Condition()

    def listen(self, spark: SparkSession, rest: float = 0) -> None:
        """Begin to take the reports of a session's queries, each so many seconds after it was made."""
        self._spark = spark
        self._reports = kernel(spark).ProgressReports(java_session(spark))
        threading.Thread(target=self._take, args=[rest], name="headrace reports", daemon=True).start()

    def close(self) -> None:
        """Take no more reports."""
        self._reports.close()

    def follow(self, query: Any, name: str) -> None:
        """Take the reports of this Spark query under this name, also those of batches that were quicker than this call."""
        run_id = str(query.runId)
        with self._changed:
            self._names[run_id] = name
            self._queries.setdefault(name, QueryStatus(name))
            for report in [report for run, report in self._early if run == run_id]:
                self._add(name, report)
                self._heard(name, report)  # before any later one

    def event_time(self) -> tuple[float | None, float]:
        """The highest event time seen, in seconds, and when (by the clock) a row last came."""
        return self._event_time

    def settle(self) -> None:
        """Wait for the last reports: Spark sends them from a thread of its own, unless it was stopped before the run."""
        self._settling.set()
        stopped = not is_connected(self._spark)
        with self._changed:
            self._changed.wait_for(
                lambda: self._silent or self._terminated >= set(self._names),
                0 if stopped else _SETTLE_SECONDS,
            )

    def status(
        self,
        sinks: dict[str, int],
        steps: Mapping[str, Balance] | None = None,
        rules: Mapping[str, RulesStatus] | None = None,
        *,
        dead_letters: int = 0,
        active: bool,
    ) -> Status:
        """What is known now; `sinks` are the rows that each way out has delivered, `steps` where those of each step went."""
        with self._changed:
            queries, recent = tuple(self._queries.values()), list(self._recent)
        marks = [query.watermark for query in queries if query.watermark]
        written = {
            name: rows for name, rows in sinks.items() if ":" not in name and not name.startswith("handover.")
        }
        return Status(
            active=active,
            rows_in=sum(query.rows_in for query in queries if query.name in self._counted),
            rows_out=sum(written.values()),
            rate=_rate(recent),
            latency_ms=sorted(ms for _, _, ms in recent)[len(recent) // 2] if recent else None,
            watermark=min(marks) if marks else None,
            late=sum(query.late for query in queries) + sum(step.late for step in (steps or {}).values()),
            dead_letters=dead_letters,
            queries=queries,
            sinks=written,
            steps=dict(steps or {}),
            rules=dict(rules or {}),
        )

    def note(self, run_id: str, report: dict[str, Any]) -> None:
        """Add one progress report."""
        with self._changed:
            name = self._names.get(run_id)
            if name is None:  # another run's, or `follow` is yet to be called
                self._early.append((run_id, report))
                return
            self._add(name, report)
        self._heard(name, report)

    def _add(self, name: str, report: dict[str, Any]) -> None:
        before, rows = self._queries[name], rows_read(report)
        self._queries[name] = _after(before, report, rows)
        self._recent.append((time.time(), rows, int(report["durationMs"].get("triggerExecution", 0))))
        highest = report.get("eventTime", {}).get("max")
        if rows and highest:
            seconds = datetime.fromisoformat(highest).timestamp()
            self._event_time = (max(self._event_time[0] or seconds, seconds), time.time())

    def _take(self, rest: float) -> None:
        with contextlib.suppress(OSError, GatewayError):  # Spark is gone: whoever waits for the run is told
            while (run_id := (reported := self._reports.next()).runId()) is not None:
                self._settling.wait(rest)
                if (report := reported.json()) is None:
                    self._ended(run_id)
                else:
                    self.note(run_id, json.loads(report))
        with self._changed:
            self._silent = True
            self._changed.notify_all()

    def _ended(self, run_id: str) -> None:
        with self._changed:
            self._terminated.add(run_id)
            self._changed.notify_all()


def rows_read(report: dict[str, Any]) -> int:
    """The rows that a batch read, heartbeats aside."""
    sources = report.get("sources", [])
    return sum(
        int(source["numInputRows"]) for source in sources if "heartbeat of " not in source["description"]
    )


def _first_readers(queries: Sequence[Query]) -> set[str]:
    seen, counted = set[str](), set[str]()
    for query in queries:
        if set(query.sources) - seen:
            counted.add(query.name)
        seen.update(query.sources)
    return counted


def _after(before: QueryStatus, report: dict[str, Any], rows: int) -> QueryStatus:
    operators = report.get("stateOperators", [])
    mark = report.get("eventTime", {}).get("watermark", "")
    return QueryStatus(
        before.name,
        int(report["batchId"]),
        before.rows_in + rows,
        before.late + sum(int(operator.get("numRowsDroppedByWatermark", 0)) for operator in operators),
        mark if mark and not mark.startswith("1970-01-01T00:00:00.000") else before.watermark,
        sum(int(operator.get("numRowsTotal", 0)) for operator in operators),
        int(report["durationMs"].get("triggerExecution", 0)),
    )


def _rate(recent: list[tuple[float, int, int]]) -> float:
    busy = sum(ms for _, rows, ms in recent if rows) / 1000
    return sum(rows for _, rows, _ in recent) / busy if busy else 0.0
