"""A broker whose disk is full: the epoch is refused, and delivered once when there is room again."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import connect
from headrace.connectors.base import WriteContext
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.errors import DeliveryError
from tests.support.servers import small_disk
from tests.support.sinks import deliver
from tests.support.topics_held import held

pytestmark = pytest.mark.proof


def rows(spark: SparkSession, epoch: int) -> DataFrame:
    return spark.range(epoch * 1000, (epoch + 1) * 1000).selectExpr(
        "id", "repeat(md5(string(id)), 50) as text"
    )


def test_what_does_not_fit_is_reported_and_delivered_when_there_is_room(spark: SparkSession) -> None:
    run = WriteContext("crowded", "out", "lineage", "append", "")
    with small_disk(256) as disk:
        cluster = kafka_server.start(disk / "kafka", port=0)
        try:
            out = connect.kafka(servers=cluster.servers, topic="t", partitions=1, timeout="10 seconds")
            deliver(out, run, 0, rows(spark, 0))
            room = os.statvfs(disk)
            (disk / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
            # A client only notices that the broker does not respond.
            message = rf"out: no Kafka server answers at {cluster.servers}: .*\n  hint: .*A broker whose disk is full ends"
            with pytest.raises(DeliveryError, match=message) as caught:
                deliver(out, run, 1, rows(spark, 1))
            assert len(str(caught.value).splitlines()) == 2
            (disk / "filler").unlink()
            # A broker that can't write to its only disk ends; an operator starts it again.
            cluster.kill(1)
            cluster = kafka_server.restart(cluster, 1)
            deliver(out, run, 1, rows(spark, 1))
            keys = [record.value for record in held(Client(cluster.servers), "t")]
            assert (len(keys), len(set(keys))) == (2000, 2000)
        finally:
            cluster.stop()
