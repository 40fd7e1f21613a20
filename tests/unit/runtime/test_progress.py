"""What a run has done, from reports that come when they like."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headrace import Pipeline, connect
from headrace.plan.queries import queries_of
from headrace.runtime.progress import RECENT, ProgressLog


def report(epoch: int, rows: int) -> dict[str, Any]:
    source = {"description": "memory", "numInputRows": rows}
    return {"batchId": epoch, "durationMs": {"triggerExecution": 5}, "sources": [source]}


def test_reports_that_come_before_their_query_is_followed_count_in_their_order() -> None:
    pipeline = Pipeline("p")
    pipeline.read("rows", connect.memory(), schema="v int").write("out", connect.memory())
    heard: list[tuple[str, int]] = []
    log = ProgressLog(
        queries_of(pipeline.check()), lambda query, said: heard.append((query, said["batchId"]))
    )
    for epoch in range(RECENT):
        log.note("of another pipeline", report(epoch, 100))
    log.note("the run", report(0, 3))
    log.note("the run", report(1, 4))
    log.follow(SimpleNamespace(runId="the run"), "rows")
    log.note("the run", report(2, 5))
    status = log.status({}, active=True)
    assert (status.rows_in, status.queries[0].epoch) == (12, 2)
    assert heard == [("rows", 0), ("rows", 1), ("rows", 2)]
