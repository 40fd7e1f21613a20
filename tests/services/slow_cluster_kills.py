"""Kills of drivers, executors and workers of a standalone cluster in mid-run, 20 by default.

`HEADRACE_KILLS=3 pytest tests/services/slow_cluster_kills.py` kills three times. Every run writes to files,
SQLite, PostgreSQL and Kafka; all have the rows of an undisturbed run. `make delivery` runs it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.devtools import spark_cluster
from headrace.devtools.kafka_client import Client
from headrace.devtools.spark_cluster import SparkCluster
from tests.services.test_spark_cluster import (
    FILES,
    cluster,
    executors,
    expected,
    finish,
    kill_driver,
    rows_of_files,
    rows_of_table,
    start_run,
    wait_for_epochs,
    write_pipeline,
)
from tests.support.servers import Server
from tests.support.topics_held import held
from tests.support.waiting import wait_until

KILLS = int(os.environ.get("HEADRACE_KILLS", "20"))
VICTIMS = ("driver", "executor", "worker")
__all__ = ["cluster", "expected"]  # fixtures


def kill_worker(cluster: SparkCluster) -> None:
    """Kill a worker; another one joins during the run."""
    alive = [worker for worker in cluster.workers if worker.process.running]
    alive[0].process.send(signal.SIGKILL)
    spark_cluster.add_worker(cluster)


@pytest.mark.parametrize("number", range(KILLS))
def test_rows_are_exact_after_a_kill(
    number: int,
    cluster: SparkCluster,
    expected: list[tuple[str, int, int]],
    servers: Callable[[str], Server],
    client: Client,
) -> None:
    current = spark_cluster.running_cluster(cluster.directory)
    assert current is not None
    server, log, topic = servers("postgres"), Path("run.log"), f"kill-{number}"
    server.sql("drop table if exists counts")
    client.create(topic, partitions=2)
    write_pipeline(server.url, client.servers, topic)
    run, chance = start_run(current, log), random.Random(number)
    wait_for_epochs(chance.randint(1, FILES - 5), run, log)
    time.sleep(chance.random())  # somewhere in an epoch
    victim = VICTIMS[number % len(VICTIMS)]
    if victim == "driver":
        kill_driver(run)
        wait_until(lambda: not executors(current))
        run = start_run(current, log)
    elif victim == "executor":
        os.kill(chance.choice(sorted(executors(current))), signal.SIGKILL)
    else:
        kill_worker(current)
    finish(run, log)
    assert rows_of_files() == rows_of_table() == expected
    assert sorted(server.sql("select k, n, latest from counts")) == expected
    records = [json.loads(record.value or "") for record in held(client, topic)]
    assert sorted((row["k"], row["n"], row["latest"]) for row in records) == expected
