"""Collect Spark's progress reports and derive the status of a run."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headrace.plan.queries import Query
from headrace.runtime.progress.epochs import (
    lag_of,
    percentiles_of,
    phases_of,
    reads_of,
    rows_read,
    state_bytes_of,
)
from headrace.runtime.progress.status import QueryStatus, Status
from headrace.runtime.threads import start_thread
from headrace.runtime.unrouted import is_unrouted, side_output_of
from headrace.spark.gateway import is_connected, java_session, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECENT = 64
STATE_EPOCHS = 10
"""Epochs of which the largest state is reported. RocksDB empties its memory buffers for a snapshot, at every
tenth epoch (`minDeltasForSnapshot`), and Spark measures right after it: a fraction of the size before."""
EXCHANGE = "exchange."
"""Prefix of the names under which exchanges are written."""
_SETTLE_SECONDS = 30.0
"""Time to wait for the last reports: Spark's listener thread can lag behind on a busy machine."""
_SECONDS_OF_400_YEARS = 146_097 * 86_400
_NO_WATERMARK = "1970-01-01T00:00:00.000"

_log = logging.getLogger("headrace")


class ProgressLog:
    """The progress reports of the queries of one run."""

    def __init__(
        self,
        queries: Sequence[Query] = (),
        on_report: Callable[[str, dict[str, Any]], None] = lambda query, report: None,
    ) -> None:
        """Collect the reports of these queries.

        Args:
            queries: the queries; rows of a source that several of them read are counted once.
            on_report: called with the name of the query and the report of each committed epoch.
        """
        self._on_report = on_report
        self._reports: Any = None
        self._spark: Any = None
        self._settling = threading.Event()
        self._counted = _first_readers(queries)
        self._names: dict[str, str] = {}
        self._early: deque[tuple[str, dict[str, Any]]] = deque(maxlen=RECENT)
        self._queries: dict[str, QueryStatus] = {}
        self._state_bytes: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=STATE_EPOCHS))
        self._recent: deque[tuple[float, int, int]] = deque(maxlen=RECENT)
        self._terminated: set[str] = set()
        self._ended = False
        self._changed = threading.Condition()

    def listen(
        self, spark: SparkSession, *, on_failure: Callable[[BaseException], None], delay: float = 0
    ) -> None:
        """Start to collect the reports of a session, each `delay` seconds after it was created."""
        self._spark = spark
        self._reports = kernel(spark).ProgressReports(java_session(spark))
        start_thread("progress", lambda: self._collect(delay), on_failure=on_failure)

    def close(self) -> None:
        """Stop collecting reports."""
        self._reports.close()

    def follow(self, query: Any, name: str) -> None:
        """Assign the reports of a Spark query, including earlier ones, to a name."""
        run_id = str(query.runId)
        with self._changed:
            self._names[run_id] = name
            self._queries.setdefault(name, QueryStatus(name))
            for report in [report for run, report in self._early if run == run_id]:
                self._add(name, report)
                self._on_report(name, report)  # before any later report

    def settle(self) -> None:
        """Wait for the last reports of all queries."""
        self._settling.set()
        stopped = not is_connected(self._spark)
        with self._changed:
            self._changed.wait_for(
                lambda: self._ended or self._terminated >= set(self._names),
                0 if stopped else _SETTLE_SECONDS,
            )

    def status(self, sinks: dict[str, int], *, active: bool, phase: str = "") -> Status:
        """Return the part of the status that the reports determine.

        Args:
            sinks: the committed rows of each sink and exchange.
            active: True until the run has ended.
            phase: the phase of the run, shown before the first epoch.
        """
        with self._changed:
            queries, recent = tuple(self._queries.values()), list(self._recent)
        watermarks = [query.watermark for query in queries if query.watermark]
        named = {name: rows for name, rows in sinks.items() if not name.startswith(EXCHANGE)}
        written = {name: rows for name, rows in named.items() if not is_unrouted(name)}
        return Status(
            active=active,
            rows_in=sum(query.rows_in for query in queries if query.name in self._counted),
            rows_out=sum(written.values()),
            rate=_rate(recent),
            latency_ms=sorted(ms for _, _, ms in recent)[len(recent) // 2] if recent else None,
            latency=percentiles_of((ms, rows) for _, rows, ms in recent),
            watermark=min(watermarks, key=parse_time) if watermarks else None,
            late=sum(query.late for query in queries),
            queries=queries,
            sinks=written,
            unrouted={side_output_of(name): rows for name, rows in named.items() if is_unrouted(name)},
            phase="" if any(query.epoch >= 0 for query in queries) else phase,
        )

    def add(self, run_id: str, report: dict[str, Any]) -> None:
        """Add a progress report."""
        with self._changed:
            name = self._names.get(run_id)
            if name is None:  # the query belongs to another run, or `follow` has not been called yet
                self._early.append((run_id, report))
                return
            self._add(name, report)
        self._on_report(name, report)

    def _add(self, name: str, report: dict[str, Any]) -> None:
        before, rows, sizes = self._queries[name], rows_read(report), self._state_bytes[name]
        sizes.append(state_bytes_of(report))
        self._queries[name] = _add_report(before, report, rows, max(sizes))
        self._recent.append((time.time(), rows, int(report["durationMs"].get("triggerExecution", 0))))

    def _collect(self, delay: float) -> None:
        try:
            while (run_id := (reported := self._reports.next()).runId()) is not None:
                self._settling.wait(delay)
                if (report := reported.json()) is None:
                    self._mark_terminated(run_id)
                else:
                    self._add_or_log(run_id, report)
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _add_or_log(self, run_id: str, report: str) -> None:
        """Add a report; log and skip one that cannot be read."""
        try:
            self.add(run_id, json.loads(report))
        except Exception:
            _log.exception("a progress report of Spark cannot be read: %s", report)

    def _mark_terminated(self, run_id: str) -> None:
        with self._changed:
            self._terminated.add(run_id)
            self._changed.notify_all()


def parse_time(text: str) -> float:
    """Return a timestamp of Spark's reports in seconds since 1970; years above 9999 are allowed.

    >>> parse_time("2026-03-01T12:00:05.250Z"), parse_time("+99999-01-01T00:00:00.000Z")
    (1772366405.25, 3093496444800.0)
    """
    year, rest = text.lstrip("+").split("-", 1)
    cycles = max(0, (int(year) - 9600) // 400)
    return (
        datetime.fromisoformat(f"{int(year) - 400 * cycles:04}-{rest}").timestamp()
        + cycles * _SECONDS_OF_400_YEARS
    )


def _first_readers(queries: Sequence[Query]) -> set[str]:
    seen, counted = set[str](), set[str]()
    for query in queries:
        if set(query.sources) - seen:
            counted.add(query.name)
        seen.update(query.sources)
    return counted


def _add_report(before: QueryStatus, report: dict[str, Any], rows: int, state_bytes: int) -> QueryStatus:
    operators = report.get("stateOperators", [])
    watermark = report.get("eventTime", {}).get("watermark", "")
    return QueryStatus(
        before.name,
        int(report["batchId"]),
        before.rows_in + rows,
        before.late + sum(int(operator.get("numRowsDroppedByWatermark", 0)) for operator in operators),
        watermark if watermark and not watermark.startswith(_NO_WATERMARK) else before.watermark,
        sum(int(operator.get("numRowsTotal", 0)) for operator in operators),
        int(report["durationMs"].get("triggerExecution", 0)),
        state_bytes,
        phases_of(report),
        lag_of(report),
        before.busy_ms + int(report["durationMs"].get("triggerExecution", 0)),
        before.reads | {name: before.reads.get(name, 0) + rows for name, rows in reads_of(report).items()},
    )


def _rate(recent: list[tuple[float, int, int]]) -> float:
    busy = sum(ms for _, rows, ms in recent if rows) / 1000
    return sum(rows for _, rows, _ in recent) / busy if busy else 0.0
