"""A server that goes away in the middle of an epoch: it is waited for, and nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from servers import Server
from sinks import deliver, rows

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import WriteContext
from headrace.errors import DeliveryError


@pytest.mark.parametrize("step", ["database.rows", "database.committed"])
def test_server_gone_in_the_middle_and_back_loses_nothing(
    spark: SparkSession, server: Server, table: str, run: Callable[..., WriteContext], step: str
) -> None:
    out = getattr(connect, server.kind)(url=server.url, table=table)
    bounced = []

    def bounce(reached: str) -> None:
        if reached == step and not bounced:
            bounced.append(reached)
            server.stop()
            server.start()

    deliver(out, run(), 0, rows(spark, ("a", 0)))
    with failpoints.watched(bounce):
        told = _failure(lambda: deliver(out, run(), 1, rows(spark, ("b", 1))))
    # What was staged may be gone with the server (PostgreSQL empties unlogged tables): then the epoch comes again.
    assert told == "" or "hint: run again: the epoch comes again" in told
    assert told == "" or step != "database.committed"
    deliver(out, run(), 1, rows(spark, ("b", 1)))
    assert bounced == [step]
    assert sorted(server.sql(f"SELECT * FROM {table}")) == [("a", 0), ("b", 1)]


def _failure(act: Callable[[], None]) -> str:
    try:
        act()
    except DeliveryError as error:
        return str(error)
    return ""


def test_server_that_stays_away_is_told(
    spark: SparkSession, server: Server, table: str, run: Callable[..., WriteContext]
) -> None:
    out = getattr(connect, server.kind)(url=server.url, table=table, retry_timeout="1 second")
    writer: Any = out.writer()
    writer.open(run())
    server.stop()
    try:
        # A session that still hears how its server ends says so; whoever connects later meets nobody.
        hint = "(is the server running|the server is going down)"
        with pytest.raises(DeliveryError, match=rf"can't take epoch 0: .+\n  hint: {hint}"):
            writer.stage(0, rows(spark, ("a", 1)))
    finally:
        server.start()
    writer.close()
    deliver(out, run(), 0, rows(spark, ("a", 1)))
    assert server.sql(f"SELECT * FROM {table}") == [("a", 1)]
