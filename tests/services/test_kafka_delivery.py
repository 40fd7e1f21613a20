"""Kafka's sink in the delivery harness, also while its server dies."""

from __future__ import annotations

import itertools
import json

import pytest
from pyspark.sql import SparkSession

from headrace import connect
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.testing import delivery
from tests.support.topics_held import held

pytestmark = pytest.mark.proof

_numbers = itertools.count()


def test_every_disturbance_leaves_every_row_once(
    spark: SparkSession, client: Client, broker: kafka_server.Cluster
) -> None:
    def target(trial: str) -> delivery.Target:
        name = f"trial-{next(_numbers)}"
        sink = connect.kafka(servers=client.servers, topic=name, partitions=2, key="id")
        return delivery.Target(
            sink, lambda: [json.loads(str(record.value))["id"] for record in held(client, name)]
        )

    def run_again(_: delivery.Target) -> None:
        running = kafka_server.running_cluster(broker.directory)
        assert running is not None
        running.kill(1)
        kafka_server.restart(running, 1)

    report = delivery.check_sink(spark, target, disturbances={"the server dies and comes back": run_again})
    print(report)
    assert report.passed, report
