"""On a standalone cluster: jobs change their parallelism, executors come and go, files are submitted to Spark."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headrace.checkpoints.layout import list_checkpoints, progress_of
from headrace.devtools.kafka_client import Client
from headrace.devtools.spark_cluster import SparkCluster
from headrace.jobs.autoscaling import AutoscaleRule
from headrace.jobs.model import JobSettings
from headrace.jobs.service import JobService
from headrace.jobs.states import JobState
from headrace.jobs.submission import Submission
from headrace.jobs.upgrades import JobUpgrades
from headrace.spark.java import find_java
from headrace.spark.kernel_jar import JAR
from tests.services.clustered_job import (
    SMALL,
    cluster,
    executors,
    expected,
    finish,
    kill_driver,
    rows_of_files,
    rows_of_table,
    start_run,
    write_pipeline,
)
from tests.support.waiting import TIMEOUT, wait_until

CONF = dict(setting.split("=") for setting in SMALL)
DYNAMIC = (
    "spark.dynamicAllocation.enabled=true",
    "spark.dynamicAllocation.maxExecutors=2",
    "spark.executor.cores=1",
)
__all__ = ["cluster", "expected"]  # fixtures


@pytest.fixture
def service(tmp_path: Path) -> Iterator[JobService]:
    service = JobService(tmp_path / "jobs")
    service.start()
    yield service
    for job in service.jobs():
        if job.state.active:
            service.kill(job.id)
    service.pause()
    service.close()


@pytest.mark.proof
def test_job_is_scaled_to_more_executors_and_partitions_with_its_state(
    cluster: SparkCluster, expected: list[tuple[str, int, int]], service: JobService
) -> None:
    write_pipeline()
    settings = JobSettings(master=cluster.master, executors=1, partitions=2, conf=CONF)
    files = {"pipeline.py": Path("pipeline.py").read_bytes()}
    job = service.submit(Submission("pipeline.py", files, directory=str(Path.cwd()), settings=settings)).id
    checkpoint = service.directory(job).checkpoint

    def partitions() -> list[int | None]:
        return [progress_of(each).partitions for each in list_checkpoints(checkpoint)]

    def has_state() -> bool:
        assert service.get(job).state is not JobState.FAILED, service.get(job).error
        return any((checkpoint / "queries/counts/spark/commits").glob("[1-9]*"))

    wait_until(has_state)
    assert (len(executors(cluster)), partitions()) == (1, [2])
    JobUpgrades(service).scale(job, partitions=3, executors=2)
    wait_until(lambda: len(executors(cluster)) == 2)
    wait_until(lambda: service.get(job).state is JobState.RUNNING and partitions() == [3])
    service.drain(job)
    wait_until(lambda: not service.get(job).state.active)
    assert service.get(job).state is JobState.DRAINED, service.get(job).error
    assert partitions() == [3]
    assert rows_of_files() == rows_of_table() == expected


BURSTS = """
from headrace import Pipeline, connect, windows

pipeline = Pipeline("bursts")
source = connect.kafka(servers={servers!r}, topic="bursts", max_per_batch=250)
rows = pipeline.read("rows", source, format="json", schema="k string, ts timestamp").event_time("ts")
counts = rows.key_by("k").window(windows.tumbling("1 minute")).aggregate("counts", n="count(*)")
table = connect.sqlite(path="out.db", table="counts", key=["k", "start"])
counts.select("k", "window.start as start", "n").write("table", table)
"""


@pytest.mark.proof
def test_burst_scales_a_job_up_by_its_lag_and_its_end_scales_it_down_with_equal_rows(
    cluster: SparkCluster,
    service: JobService,
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    client.create("bursts", partitions=2)
    rule = AutoscaleRule(
        max_executors=2, lag_above=1000, duration="1 second", cooldown="3 seconds", partitions_per_executor=1
    )
    settings = JobSettings(master=cluster.master, conf=CONF, autoscale=rule)
    files = {"pipeline.py": BURSTS.format(servers=client.servers).encode()}
    job = service.submit(Submission("pipeline.py", files, directory=str(tmp_path), settings=settings)).id

    def runs_with(number: int) -> bool:
        current = service.get(job)
        assert current.state is not JobState.FAILED, current.error
        size = current.settings.executors or rule.min_executors
        return current.state is JobState.RUNNING and (size, len(executors(cluster))) == (number, number)

    wait_until(lambda: runs_with(1))
    rows = [(f"k{n % 7}", f"2026-03-02T09:{n // 1000:02}:{n % 60:02}Z") for n in range(12_000)]
    client.produce("bursts", [(k, json.dumps({"k": k, "ts": ts})) for k, ts in rows])
    wait_until(lambda: runs_with(2))
    wait_until(lambda: runs_with(1))
    service.drain(job)
    wait_until(lambda: not service.get(job).state.active)
    assert service.get(job).state is JobState.DRAINED, service.get(job).error
    changes = [each["reason"].partition(":")[0] for each in service.store.transitions(job)]
    scaled = [reason for reason in changes if reason.startswith("scaled")]
    assert scaled == ["scaled up from 1 to 2 executors", "scaled down from 2 to 1 executors"]
    with closing(sqlite3.connect("out.db")) as database:
        counted = database.execute("SELECT k, n FROM counts").fetchall()
    expected = Counter((k, ts[:16]) for k, ts in rows)
    assert sorted(counted) == sorted((k, n) for (k, _), n in expected.items())


@pytest.mark.proof
def test_dynamic_allocation_starts_with_one_executor_and_adds_another(
    cluster: SparkCluster, expected: list[tuple[str, int, int]]
) -> None:
    log = Path("run.log")
    write_pipeline()
    run = start_run(cluster, log, settings=(*SMALL, *DYNAMIC))
    try:
        wait_until(lambda: run.poll() is not None or len(executors(cluster)) == 1)
        wait_until(lambda: run.poll() is not None or len(executors(cluster)) == 2)
        assert run.poll() is None, log.read_text()[-3000:]
        finish(run, log)
    finally:
        if run.poll() is None:
            kill_driver(run)
    assert [progress_of(each).partitions for each in list_checkpoints(Path("checkpoint"))] == [2]
    assert rows_of_files() == rows_of_table() == expected


def test_file_is_submitted_with_spark_submit(
    cluster: SparkCluster, expected: list[tuple[str, int, int]]
) -> None:
    write_pipeline()
    with Path("pipeline.py").open("a") as file:
        file.write('pipeline.run(until="drained", checkpoint="checkpoint")\n')
    settings = [word for setting in SMALL for word in ("--conf", setting)]
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", cluster.master]
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    java = {"JAVA_HOME": str(find_java().launcher_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [*submit, "--jars", str(JAR), "--driver-class-path", str(JAR), *settings, "pipeline.py"],
        env={**os.environ, **python, **java},
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * TIMEOUT,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert rows_of_files() == rows_of_table() == expected
