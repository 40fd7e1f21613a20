"""Tables as sources through the delivery harness: killed in the middle of epochs, their server restarted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession
from tests.support.servers import Server

from headrace import connect
from headrace.connectors.base import Connector
from headrace.testing import delivery


@pytest.mark.parametrize("kind", ["changes", "cursor"])
def test_sources_keep_their_promise(
    spark: SparkSession, servers: Callable[[str], Server], table: str, kind: str
) -> None:
    server = servers("postgres")
    made: list[str] = []

    def feed(trial: str) -> delivery.Feed:
        name = f"{table}_{len(made)}"
        made.append(name)
        server.sql(f"CREATE TABLE {name} (id bigint PRIMARY KEY)")

        def add(ids: Sequence[int]) -> None:
            server.sql(f"INSERT INTO {name} VALUES {', '.join(f'({i})' for i in ids)}")

        return delivery.Feed(source(name), add)

    def source(name: str) -> Connector:
        if kind == "changes":
            return connect.postgres_cdc(url=server.url, table=name, slot=name, max_per_batch=3)
        return connect.postgres(url=server.url, table=name, cursor="id", delay="0 seconds", max_per_batch=3)

    def run_again(_: delivery.Feed) -> None:
        server.stop()
        server.start()

    try:
        report = delivery.check_source(feed, disturbances={"the server is restarted": run_again})
    finally:
        server.sql(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE %s",
            (f"{table}\\_%",),
        )
    assert report.passed, str(report)
    assert len(report.trials) == 5
