"""Kills of drivers, executors and workers of a standalone cluster in mid-run, 20 by default.

`HEADRACE_KILLS=5 pytest -m proof tests/services/test_cluster_kills.py` kills five times, in one run. Every run writes to
files, SQLite, PostgreSQL and Kafka; all have the rows of an undisturbed run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest

from headrace.devtools import spark_cluster
from headrace.devtools.kafka_client import Client
from headrace.devtools.spark_cluster import SparkCluster
from tests.services.clustered_job import (
    cluster,
    epochs,
    executors,
    expected,
    finish,
    kill_driver,
    rows_of_files,
    rows_of_table,
    rows_of_topic,
    start_run,
    wait_for_epochs,
    write_pipeline,
)
from tests.support.servers import Server
from tests.support.waiting import wait_until

pytestmark = pytest.mark.proof

KILLS = int(os.environ.get("HEADRACE_KILLS", "20"))
PER_RUN = 5
VICTIMS = ("driver", "executor", "worker")
__all__ = ["cluster", "expected"]  # fixtures


class Disturbance:
    """A run of the pipeline whose driver, executors and workers are killed, each somewhere in an epoch."""

    def __init__(self, cluster: SparkCluster, seed: int) -> None:
        self._directory = cluster.directory
        self._chance = random.Random(seed)
        self._log = Path("run.log")
        self.run = start_run(cluster, self._log)

    @property
    def cluster(self) -> SparkCluster:
        current = spark_cluster.running_cluster(self._directory)
        assert current is not None
        return current

    def kill(self, victim: str) -> None:
        wait_for_epochs(epochs() + 1, self.run, self._log)
        time.sleep(self._chance.random())
        assert self.run.poll() is None, self._log.read_text()[-3000:]
        if victim == "driver":
            kill_driver(self.run)
            wait_until(lambda: not executors(self.cluster))
            self.run = start_run(self.cluster, self._log)
        elif victim == "executor":
            os.kill(self._chance.choice(sorted(executors(self.cluster))), signal.SIGKILL)
        else:
            alive = [worker for worker in self.cluster.workers if worker.process.running]
            self._chance.choice(alive).process.send(signal.SIGKILL)
            spark_cluster.add_worker(self.cluster)

    def finish(self) -> None:
        finish(self.run, self._log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.run.poll() is None:
            kill_driver(self.run)


@pytest.mark.parametrize("first", range(0, KILLS, PER_RUN))
def test_rows_are_exact_after_kills(
    first: int,
    cluster: SparkCluster,
    expected: list[tuple[str, int, int]],
    servers: Callable[[str], Server],
    client: Client,
) -> None:
    server, topic = servers("postgres"), f"kills-{first}"
    server.sql("drop table if exists counts")
    client.create(topic, partitions=2)
    write_pipeline(server.url, client.servers, topic)
    with Disturbance(spark_cluster.running_cluster(cluster.directory) or cluster, first) as disturbed:
        for number in range(first, min(first + PER_RUN, KILLS)):
            disturbed.kill(VICTIMS[number % len(VICTIMS)])
        disturbed.finish()
    assert rows_of_files() == rows_of_table() == expected
    assert sorted(server.sql("select k, n, latest from counts")) == expected
    assert rows_of_topic(client, topic) == expected
    assert set(rows_of_topic(client, f"{topic}-direct")) == set(expected)  # at least once
