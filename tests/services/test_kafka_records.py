"""The kernel's Kafka reader returns the records of Spark's reader, for all compression types and logins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.connectors.kafka import properties
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from tests.support.topics_held import settle

Topic = Callable[..., str]
Record = tuple[int, bytes | None]


def read(spark: SparkSession, source: connect.kafka, checkpoint: Path) -> list[Record]:
    """Return offsets and values of the kernel's reader up to the end of the topic, in order."""
    provider = "org.apache.spark.sql.headrace.kafka.RecordsProvider"
    stream = spark.readStream.format(provider).options(
        **properties.reading(source), startingOffsets="earliest"
    )
    epochs: list[list[Any]] = []
    query = stream.load().writeStream.foreachBatch(lambda frame, _: epochs.append(frame.collect()))
    query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    topic = source.topic
    assert {row["partition"] for epoch in epochs for row in epoch} <= {f"{topic}-0"}
    return [(row["offset"], row["value"]) for epoch in epochs for row in epoch]


def links(spark: SparkSession, topic: str) -> int:
    """Return the number of pooled fetchers of a topic: none if Spark's reader took over."""
    return int(spark._jvm.org.apache.spark.sql.headrace.compat.kafka.FetcherPool.countFetchers(topic))  # type: ignore[union-attr]


def test_records_of_every_compression_are_read_whole_wherever_an_epoch_ends(
    spark: SparkSession, client: Client, topic: Topic, tmp_path: Path
) -> None:
    name = topic()
    values: list[bytes | None] = []
    for number, compression in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": client.servers, "compression.type": compression, "linger.ms": 100}
        )
        some = [b"%d " % number * size for size in range(20)] + [None, b"x" * 200_000]
        for value in some:
            key = b"k" * len(values) if len(values) % 3 else None
            producer.produce(name, value, key, partition=0, headers=[("h", b"v"), ("empty", None)])
            values.append(value)
        producer.flush(120)
    actual = read(spark, connect.kafka(servers=client.servers, topic=name, max_per_batch=35), tmp_path)
    assert actual == list(enumerate(values))
    assert links(spark, name) == 1


@pytest.mark.parametrize(("isolation", "seen"), [("committed", (0, 1, 3, 4)), ("uncommitted", range(5))])
def test_what_a_transaction_wrote_that_was_aborted_is_for_readers_of_uncommitted_records(
    isolation: str, seen: Any, spark: SparkSession, client: Client, topic: Topic, tmp_path: Path
) -> None:
    name = topic()
    plain, *others = (
        confluent_kafka.Producer({"bootstrap.servers": client.servers} | more)
        for more in ({}, {"transactional.id": f"{name}-1"}, {"transactional.id": f"{name}-2"})
    )
    kept, given_up = others
    for producer in others:
        producer.init_transactions(120)
        producer.begin_transaction()
    for number, producer in enumerate((kept, plain, given_up, kept, plain)):  # one batch each, mixed
        producer.produce(name, b"%d" % number, partition=0)
        producer.flush(120)
    given_up.abort_transaction(120)
    kept.commit_transaction(120)
    settle(client, name)
    source = connect.kafka(servers=client.servers, topic=name, isolation=isolation)
    assert read(spark, source, tmp_path) == [(number, b"%d" % number) for number in seen]
    assert links(spark, name) == 1


def test_the_reader_logs_in_and_talks_tls(
    spark: SparkSession, client: Client, broker: kafka_server.Cluster, topic: Topic, tmp_path: Path
) -> None:
    server = broker.brokers[0]
    ways: list[tuple[int, dict[str, Any]]] = [
        (server.login_port, {"sasl": {"user": "reader", "password": "right"}}),
        (server.tls_port, {"tls": {"ca": str(broker.directory / "ca.pem")}}),
    ]
    for port, options in ways:
        name = topic("a", "b")
        source = connect.kafka(servers=f"127.0.0.1:{port}", topic=name, **options)
        assert read(spark, source, tmp_path / name) == [(0, b"a"), (1, b"b")]
        assert links(spark, name) == 1
