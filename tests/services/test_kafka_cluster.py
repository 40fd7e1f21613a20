"""Three brokers, and the leader of a partition dies while a pipeline writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client

pytestmark = pytest.mark.proof


def test_the_death_of_a_leader_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    cluster = kafka_server.start(tmp_path / "kafka", port=0, brokers=3)
    try:
        client = Client(cluster.servers)
        for topic in ("in", "out"):
            client.create(topic, partitions=3, replication=3)
        pipeline = Pipeline("survivor")
        source = connect.kafka(servers=cluster.servers, topic="in")
        sink = connect.kafka(servers=cluster.servers, topic="out")
        pipeline.read("tx", source, format="text").write("out", sink)
        with pipeline.start(checkpoint=tmp_path / "checkpoint") as running:
            client.produce("in", [(None, f"{n}") for n in range(100)])
            _wait(lambda: len(list(client.consume("out"))) == 100, running.wait)
            leader = client._metadata()["out"].partitions[0].leader
            cluster.kill(leader)
            client.produce("in", [(None, f"{n}") for n in range(100, 200)])
            _wait(lambda: len(list(client.consume("out"))) >= 200, running.wait)
        actual = sorted(int(str(record.value)[10:-2]) for record in client.consume("out"))
        assert actual == list(range(200))
        assert client._metadata()["out"].partitions[0].leader != leader
    finally:
        cluster.stop(timeout=10)


def _wait(holds: Callable[[], bool], wait: Callable[[float], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        wait(0.2)
