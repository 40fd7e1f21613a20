"""Measurements of real runs: row accounting of sinks, delays of rows, ticks."""

from __future__ import annotations

import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest
from benchmarks.backpressure import SlowSink
from pyspark.sql import DataFrame, SparkSession
from tests.support.waiting import TIMEOUT, wait_until

from headrace import Connector, Pipeline, connect, windows
from headrace.connectors.base import Role, Staged, StagedRows, WriteContext
from headrace.metrics.tick import TickBuilder
from headrace.runtime.progress.mismatches import Mismatch

ROWS = [
    {"k": "a", "v": number, "ts": datetime.fromtimestamp(1_700_000_000 + second, UTC)}
    for number, second in enumerate([0, 1, 12, 2, 13, 40])
]
SCHEMA = "k string, v int, ts timestamp"


class LossyWriter:
    """Drops one row of each epoch."""

    def open(self, context: WriteContext) -> int:
        return -1

    def stage(self, epoch: int, frame: DataFrame) -> Staged:
        return StagedRows(max(0, len(frame.collect()) - 1))

    def commit(self, epoch: int, staged: Staged) -> None: ...

    def close(self) -> None: ...


class Lossy(Connector):
    kind: ClassVar[str] = "lossy"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})

    def writer(self) -> Any:
        return LossyWriter()


def run(pipeline: Pipeline, directory: Path) -> Any:
    with pipeline.start(checkpoint=directory / "checkpoint", until="drained") as handle:
        handle.wait(timeout=300)
        return handle.status()


def test_a_sink_that_drops_a_row_is_a_mismatch_of_its_epoch(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline("lossy")
    rows = pipeline.read("rows", connect.memory(rows=ROWS), schema=SCHEMA)
    rows.write("kept", connect.memory())
    rows.write("leak", Lossy())
    status = run(pipeline, tmp_path)
    assert status.mismatch_count == 1
    assert status.mismatches == (Mismatch("leak", 0, 6, 5),)


def test_status_has_the_epoch_of_each_ledger_after_the_run(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline("ledgers")
    rows = pipeline.read("rows", connect.memory(rows=ROWS), schema=SCHEMA)
    rows.write("table", connect.sqlite(path=str(tmp_path / "rows.db"), table="rows"))
    rows.write("files", connect.files(path=str(tmp_path / "out"), format="json"))
    rows.write("printed", connect.console())
    status = run(pipeline, tmp_path)
    assert status.ledgers == {"table": 0, "files": 0}
    steps = TickBuilder(pipeline._plan()).build(status)["steps"]
    assert [steps[name].get("ledger_epoch") for name in ("table", "printed")] == [0, None]


@pytest.fixture
def windowed(tmp_path: Path) -> tuple[Pipeline, Any]:
    pipeline = Pipeline("windowed")
    rows = pipeline.read("rows", connect.memory(rows=ROWS), schema=SCHEMA)
    timed = rows.where("v >= 0", step_name="all").event_time("ts", out_of_order="1 minute")
    totals = timed.key_by("k").window(windows.tumbling("10 seconds"))
    totals.aggregate("totals", n="count(*)").write("out", connect.memory())
    return pipeline, run(pipeline, tmp_path)


def test_a_drained_pipeline_balances(spark: SparkSession, windowed: tuple[Pipeline, Any]) -> None:
    _, status = windowed
    assert status.mismatches == ()
    assert status.steps["totals"].balanced


def test_the_disorder_of_rows_is_measured(spark: SparkSession, windowed: tuple[Pipeline, Any]) -> None:
    delays = windowed[1].delays
    assert sum(delays.out_of_order.values()) == len(ROWS)
    [most] = [bound for bound in delays.out_of_order if delays.share_within(bound) == 1]
    assert 10_000 <= most < 12_500
    assert delays.recommend_out_of_order() is None, "six rows are too few"
    assert min(delays.behind_clock) > 3600_000


def test_a_tick_has_rows_of_every_step(spark: SparkSession, windowed: tuple[Pipeline, Any]) -> None:
    pipeline, status = windowed
    tick = TickBuilder(pipeline._plan(), {"metrics": {"rows_in": 100}}).build(status)
    steps = tick["steps"]
    assert tick["metrics"]["rows_in"] == 100 + len(ROWS)
    assert tick["metrics"]["latency_ms"]["p99"] > 0
    assert (steps["rows"]["rows_out"], steps["all"]["rows_in"], steps["all"]["rows_out"]) == (6, 6, 6)
    assert (steps["totals"]["rows_in"], steps["out"]["rows_out"]) == (6, 3)
    assert tick["metrics"]["state_bytes"] >= 0
    query = next(iter(tick["queries"].values()))
    assert "addBatch" in query["phases_ms"]
    assert 0 <= query["busy"] <= 1


def test_messages_that_a_full_log_drops_and_its_backlog_are_metrics(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipeline, first_epoch, go_on = Pipeline("edge"), threading.Event(), threading.Event()

    def pause(rows: int) -> None:
        first_epoch.set()
        assert go_on.wait(TIMEOUT)

    with socket.create_server(("127.0.0.1", 0)) as server:
        options = {"host": "127.0.0.1", "port": server.getsockname()[1], "log_limit": "64 KB"}
        source = connect.socket(**options, overflow="drop_newest", max_per_batch=10)
        lines = pipeline.read("lines", source, format="text")
        lines.select(n="cast(substring(value, 1, 4) as int)").write("out", SlowSink.waiting(pause))
        with pipeline.start(checkpoint=tmp_path / "checkpoint") as handle:
            with server.accept()[0] as connection:
                connection.sendall(b"".join(b"%04d" % number + b"." * 996 + b"\n" for number in range(200)))
                assert first_epoch.wait(TIMEOUT)
                wait_until(lambda: handle.status().receptions["lines"].received == 200, handle)
                reception = handle.status().receptions["lines"]
                tick = TickBuilder(handle.graph).build(handle.status())
                go_on.set()
                wait_until(lambda: handle.status().receptions["lines"].backlog == 0, handle)
            handle.stop()
    assert reception.dropped > 0
    assert reception.stored + reception.dropped == 200
    assert reception.backlog == reception.stored  # no epoch is committed yet
    assert tick["lag_by_partition"] == {"lines-log": reception.backlog}
    assert tick["metrics"]["lag"] == reception.backlog
    assert tick["metrics"]["messages_dropped"] == reception.dropped
    assert tick["steps"]["lines"]["reception"]["received"] == 200
    assert handle.status().receptions["lines"].dropped == reception.dropped
