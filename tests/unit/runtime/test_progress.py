"""Progress of a run from reports that arrive at any time."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.plan.queries import queries_of
from headrace.runtime.progress.log import RECENT, STATE_EPOCHS, ProgressLog, parse_time
from headrace.runtime.threads import start_thread
from headrace.spark.gateway import ConnectionLostError, GatewayError


def report(epoch: int, rows: int) -> dict[str, Any]:
    source = {"description": "memory", "numInputRows": rows}
    return {"batchId": epoch, "durationMs": {"triggerExecution": 5}, "sources": [source]}


def test_reports_before_follow_are_counted_in_order() -> None:
    pipeline = Pipeline("p")
    pipeline.read("rows", connect.memory(), schema="v int").write("out", connect.memory())
    received: list[tuple[str, int]] = []
    log = ProgressLog(
        queries_of(pipeline._plan()), lambda query, report: received.append((query, report["batchId"]))
    )
    for epoch in range(RECENT):
        log.add("of another pipeline", report(epoch, 100))
    log.add("the run", report(0, 3))
    log.add("the run", report(1, 4))
    log.follow(SimpleNamespace(runId="the run"), "rows")
    log.add("the run", report(2, 5))
    status = log.status({}, active=True)
    assert (status.rows_in, status.queries[0].epoch) == (12, 2)
    assert received == [("rows", 0), ("rows", 1), ("rows", 2)]


def test_state_does_not_shrink_for_the_epoch_of_a_snapshot() -> None:
    log = ProgressLog()
    log.follow(SimpleNamespace(runId="the run"), "rows")
    sizes = []
    for epoch, memory in enumerate([2_101_440, 8_488, 11_080, 2_101_440, *[11_080] * STATE_EPOCHS]):
        operator = {"memoryUsedBytes": memory, "customMetrics": {"rocksdbSstFileSize": 1_000}}
        log.add("the run", report(epoch, 1) | {"stateOperators": [operator]})
        sizes.append(log.status({}, active=True).queries[0].state_bytes)
    assert sizes[:-1] == [2_102_440] * (3 + STATE_EPOCHS)
    assert sizes[-1] == 12_080


def test_report_with_a_year_beyond_9999_is_added() -> None:
    log = ProgressLog()
    log.follow(SimpleNamespace(runId="the run"), "rows")
    far = {"eventTime": {"max": "+99999-01-01T00:00:00.000Z", "watermark": "+99998-12-31T23:59:59.000Z"}}
    log.add("the run", report(0, 1) | far)
    assert parse_time("+99999-01-01T00:00:00.000Z") > parse_time("9999-12-31T23:59:59Z")
    assert log.status({}, active=True).watermark == "+99998-12-31T23:59:59.000Z"


def test_report_that_cannot_be_read_is_logged_and_the_next_one_is_added(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reports = iter([("the run", "not json"), ("the run", json.dumps(report(0, 3))), (None, None)])

    class Reports:
        def next(self) -> Any:
            run_id, text = next(reports)
            return SimpleNamespace(runId=lambda: run_id, json=lambda: text)

    log = ProgressLog()
    log.follow(SimpleNamespace(runId="the run"), "rows")
    log._reports = Reports()
    log._collect(0)
    assert log.status({}, active=True).queries[0].rows_in == 3
    assert "cannot be read: not json" in caplog.text


@pytest.mark.parametrize(
    "error", [ValueError("no such year"), OSError(28, "No space left on device"), GatewayError("closed")]
)
def test_background_thread_that_fails_reports_its_error(error: Exception) -> None:
    assert failures_of(error) == [error]


@pytest.mark.parametrize("error", [ConnectionResetError(), ConnectionLostError("no answer")])
def test_lost_connection_to_the_jvm_is_left_to_the_queries(error: Exception) -> None:
    assert failures_of(error) == []


def failures_of(error: Exception) -> list[BaseException]:
    failures: list[BaseException] = []

    def fail() -> None:
        raise error

    start_thread("test", fail, on_failure=failures.append).join(timeout=10)
    return failures
