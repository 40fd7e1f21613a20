"""Database servers through the delivery harness: killed after every step, fenced, restarted in the middle."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from tests.support.servers import Server

from headrace import connect
from headrace.testing import delivery


@pytest.mark.parametrize(
    "server", ["postgres", pytest.param("mysql", marks=pytest.mark.proof)], indirect=True
)
def test_tables_keep_their_promise(spark: SparkSession, server: Server, table: str) -> None:
    made: list[str] = []

    def target(trial: str) -> delivery.Target:
        made.append(f"{table}_{len(made)}")
        name = made[-1]
        # Each trial is a pipeline of its own to the server: its ledger is kept by pipeline and sink.
        server.sql("DROP TABLE IF EXISTS _headrace_epochs")
        out = getattr(connect, server.kind)(url=server.url, table=name, key=["id"] if len(made) % 2 else [])
        return delivery.Target(out, lambda: [row[0] for row in server.sql(f"SELECT id FROM {name}")])

    def run_again(target: delivery.Target) -> None:
        server.stop()
        server.start()

    report = delivery.check_sink(spark, target, disturbances={"the server is restarted": run_again})
    assert report.passed, str(report)
    assert len(report.trials) == 13
