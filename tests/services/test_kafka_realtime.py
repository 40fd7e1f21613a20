"""Kafka to Kafka in Spark's real-time mode.

Steps with state need a session of their own: benchmarks/latency runs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.checkpoints.signatures import STATELESS, write_signature
from headrace.devtools.kafka_client import Client
from headrace.errors import DeliveryError, PlanError
from tests.support.waiting import wait_until

Topic = Callable[..., str]


def test_a_row_is_out_before_its_batch_ends_and_a_new_partition_is_read_and_progress_noted_when_it_does(
    client: Client, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    source, sink = topic('{"v": 1}', "broken"), "made-when-told"
    pipeline = Pipeline("quick")
    rows = pipeline.read(
        "tx",
        connect.kafka(servers=client.servers, topic=source, metadata={"offset": "o", "timestamp": "at"}),
        format="json", schema="v int", on_error="skip",
    )  # fmt: skip
    positive = rows.event_time("at").where("v > 0").with_columns(w="v * 2").drop("at")
    positive.write("out", connect.kafka(servers=client.servers, topic=sink, key="v"))

    def read_arrived() -> list[tuple[str | None, dict[str, int]]]:
        return [(record.key, json.loads(str(record.value))) for record in client.consume(sink)]

    with pytest.raises(
        DeliveryError, match=rf"out: unknown topic `{sink}`\n  hint: .*; partitions=4 creates it"
    ):
        pipeline.start(mode="real_time", every="10 seconds", checkpoint=tmp_path)
    client.create(sink, partitions=1)
    with pipeline.start(mode="real_time", every="10 seconds", checkpoint=tmp_path) as running:
        wait_until(lambda: read_arrived() == [("1", {"v": 1, "o": 0, "w": 2})], running)
        client.produce(source, [(None, '{"v": 0}'), (None, '{"v": 3}')])
        wait_until(lambda: read_arrived()[1:] == [("3", {"v": 3, "o": 3, "w": 6})], running)
        admin = AdminClient({"bootstrap.servers": client.servers})
        admin.create_partitions([NewPartitions(source, 2)])[source].result(30)
        wait_until(lambda: client.require(source) == [0, 1], running)
        client.produce(source, [(None, '{"v": 5}')], partition=1)
        wait_until(lambda: read_arrived()[2:] == [("5", {"v": 5, "o": 0, "w": 10})], running)
        running.stop()
    assert [item.lag for item in client.lag("quick.tx")] == [0, 0]
    assert running.status().rows_in == 5
    write_signature(
        tmp_path / "queries" / "tx", STATELESS | {"step": "window"}
    )  # as if it had been another step
    with pytest.raises(
        PlanError, match="holds the state of another declaration: step was `window`, is `stateless`"
    ):
        pipeline.start(mode="real_time", every="10 seconds", checkpoint=tmp_path)
