"""A server that becomes unavailable during an epoch is retried, and no row is lost or written twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support.servers import Server
from tests.support.sinks import deliver, rows

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import WriteContext
from headrace.errors import DeliveryError


@pytest.mark.parametrize("step", ["database.rows", "database.committed"])
def test_server_gone_in_the_middle_and_back_loses_nothing(
    spark: SparkSession, server: Server, table: str, run: Callable[..., WriteContext], step: str
) -> None:
    out = getattr(connect, server.kind)(url=server.url, table=table)
    bounced: list[Any] = []

    def bounce(reached: str) -> None:
        if reached == step and not bounced:
            bounced.append(reached)
            server.stop()
            server.start()

    deliver(out, run(), 0, rows(spark, ("a", 0)))
    with failpoints.watch(bounce):
        failure = _failure(lambda: deliver(out, run(), 1, rows(spark, ("b", 1))))
    # A restart of PostgreSQL empties unlogged staging tables; the epoch is then written again.
    assert failure == "" or "hint: run again: the epoch is read and written again" in failure
    assert failure == "" or step != "database.committed"
    deliver(out, run(), 1, rows(spark, ("b", 1)))
    assert bounced == [step]
    assert sorted(server.sql(f"SELECT * FROM {table}")) == [("a", 0), ("b", 1)]


def _failure(act: Callable[[], None]) -> str:
    try:
        act()
    except DeliveryError as error:
        return str(error)
    return ""


def test_server_that_stays_unavailable_is_an_error(
    spark: SparkSession, server: Server, table: str, run: Callable[..., WriteContext]
) -> None:
    out = getattr(connect, server.kind)(url=server.url, table=table, retry_timeout="1 second")
    writer: Any = out.writer()
    writer.open(run())
    server.stop()
    try:
        # An open session may receive the server's last message; a new one finds no server.
        hint = "(is the server running|the server is shutting down)"
        with pytest.raises(DeliveryError, match=rf"cannot take epoch 0: .+\n  hint: {hint}"):
            writer.stage(0, rows(spark, ("a", 1)))
    finally:
        server.start()
    writer.close()
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    assert server.sql(f"SELECT * FROM {table}") == [("a", 1)]
