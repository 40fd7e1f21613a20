"""A standalone cluster of one master and two workers gives the rows of a local run, also after kills."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.checkpoints.layout import progress_of
from headrace.cli.app import main
from headrace.devtools import spark_cluster
from headrace.devtools.kafka_client import Client
from headrace.devtools.spark_cluster import SparkCluster
from tests.services.clustered_job import (
    cluster,
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
from tests.support.examples_at_hand import copy_of, in_any_order, json_rows
from tests.support.servers import Server
from tests.support.waiting import wait_until

__all__ = ["cluster", "expected"]


def test_kernel_window_and_python_aggregate_reach_every_sink(
    cluster: SparkCluster,
    expected: list[tuple[str, int, int]],
    servers: Callable[[str], Server],
    client: Client,
    topic: Callable[..., str],
) -> None:
    server, log, name = servers("postgres"), Path("run.log"), topic(partitions=2)
    write_pipeline(server.url, client.servers, name)
    finish(start_run(cluster, log), log)
    assert rows_of_files() == rows_of_table() == expected
    assert rows_of_topic(client, name) == rows_of_topic(client, f"{name}-direct") == expected
    assert sorted(server.sql("select k, n, latest from counts")) == expected
    cores = len(cluster.workers) * cluster.cores
    assert progress_of(Path("checkpoint/queries/counts")).partitions == cores


def test_example_with_a_processor_beside_its_document_gives_the_expected_rows(
    cluster: SparkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All examples: `test_cluster_examples.py`."""
    monkeypatch.chdir(copy_of("driver_hours", tmp_path).directory)
    log = tmp_path / "run.log"
    finish(start_run(cluster, log, "pipeline.yaml"), log)
    rows = json_rows(*Path("out").glob("*.json"))
    assert in_any_order(rows) == in_any_order(json_rows(Path("expected.jsonl")))


def test_rows_are_exact_after_kills_of_driver_executor_and_worker(
    cluster: SparkCluster, expected: list[tuple[str, int, int]]
) -> None:
    log = Path("run.log")
    write_pipeline()
    run = start_run(cluster, log)
    wait_for_epochs(2, run, log)
    kill_driver(run)
    wait_until(lambda: not executors(cluster))
    run = start_run(cluster, log)
    wait_for_epochs(3, run, log)
    victims = [pid for pid, worker in executors(cluster).items() if worker == "worker-1"]
    assert victims
    os.kill(victims[0], signal.SIGKILL)
    wait_for_epochs(5, run, log)
    cluster.workers[1].process.send(signal.SIGKILL)
    grown = spark_cluster.add_worker(cluster)
    finish(run, log)
    assert rows_of_files() == rows_of_table() == expected
    assert list(grown.log(grown.workers[-1]).parent.glob("work/app-*/*"))  # it has joined the run
    grown.workers[-1].process.send(signal.SIGTERM)


def test_status_and_down_of_a_cluster(
    cluster: SparkCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> tuple[int, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--dir", str(cluster.directory), "--json"])
        text = capsys.readouterr().out
        return int(ended.value.code or 0), json.loads(text) if text else None

    status, data = call("cluster", "status")
    assert (status, data["master"]) == (0, cluster.master)
    assert call("cluster", "up", "--detach")[0] == 1
    assert call("cluster", "down") == (0, {"ended": cluster.master})
    assert not any(node.process.running for node in cluster.nodes)
    assert call("cluster", "status")[0] == 2
