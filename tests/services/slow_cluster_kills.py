"""Kills of drivers, executors and workers of a standalone cluster in mid-run, 20 by default.

`HEADRACE_KILLS=3 pytest tests/services/slow_cluster_kills.py` kills three times. Every run writes to files,
SQLite and PostgreSQL; all have the rows of an undisturbed run. `make delivery` runs it.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.devtools import spark_cluster
from headrace.devtools.spark_cluster import ClusterOptions
from tests.services.test_spark_cluster import (
    FILES,
    PIPELINE,
    executors,
    expected,
    finish,
    kill_driver,
    rows_of_files,
    rows_of_table,
    start_run,
    wait_for_epochs,
)
from tests.support.servers import Server
from tests.support.waiting import wait_until

KILLS = int(os.environ.get("HEADRACE_KILLS", "20"))
VICTIMS = ("driver", "executor", "worker")
__all__ = ["expected"]  # a fixture


@pytest.mark.parametrize("number", range(KILLS))
def test_rows_are_exact_after_a_kill(
    number: int, expected: list[tuple[str, int, int]], servers: Callable[[str], Server], tmp_path: Path
) -> None:
    options = ClusterOptions(workers=2, cores=1, memory="512m", port=0)
    cluster = spark_cluster.start(tmp_path / "cluster", options)
    server, log = servers("postgres"), Path("run.log")
    server.sql("drop table if exists counts")
    Path("pipeline.py").write_text(PIPELINE.format(postgres=server.url))
    try:
        run = start_run(cluster, log)
        wait_for_epochs(random.Random(number).randint(1, FILES - 2), run, log)
        victim = VICTIMS[number % len(VICTIMS)]
        if victim == "driver":
            kill_driver(run)
            wait_until(lambda: not executors(cluster))
            run = start_run(cluster, log)
        elif victim == "executor":
            os.kill(min(executors(cluster)), signal.SIGKILL)
        else:
            cluster.workers[0].process.send(signal.SIGKILL)
        finish(run, log)
    finally:
        (spark_cluster.running_cluster(tmp_path / "cluster") or cluster).stop()
    assert rows_of_files() == rows_of_table() == expected
    assert sorted(server.sql("select k, n, latest from counts")) == expected
