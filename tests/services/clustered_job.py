"""A job on a standalone cluster of one master and two workers, its input and its expected rows."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.devtools import spark_cluster
from headrace.devtools.kafka_client import Client
from headrace.devtools.processes import command_line
from headrace.devtools.spark_cluster import ClusterOptions, SparkCluster
from tests.support.topics_held import held
from tests.support.waiting import TIMEOUT

FILES, ROWS = 9, 40
SMALL = ("spark.executor.memory=512m", "spark.driver.memory=512m")

PIPELINE = """
from headrace import Aggregate, Pipeline, connect, windows


class Latest(Aggregate):
    returns = "int"

    def zero(self):
        return -1

    def add(self, state, value):
        return max(state, value)

    def merge(self, a, b):
        return max(a, b)

    def result(self, state):
        return state


pipeline = Pipeline("clustered")
source = connect.files(path="in", format="csv", max_files_per_batch=1)
rows = pipeline.read("rows", source, schema="k string, v int, ts timestamp").event_time("ts")
windowed = rows.key_by("k").window(windows.tumbling("1 minute"))
counts = windowed.aggregate("counts", n="count(*)", latest=Latest("v"))
flat = counts.select("k", "window.start as start", "n", "latest")
flat.write("files", connect.files(path="out", format="json"))
flat.write("table", connect.sqlite(path="out.db", table="counts", key=["k", "start"]))
postgres, kafka, topic = {postgres!r}, {kafka!r}, {topic!r}
if postgres:
    flat.write("postgres", connect.postgres(url=postgres, table="counts", key=["k", "start"]))
if kafka:
    flat.write("kafka", connect.kafka(servers=kafka, topic=topic, key="k"))
    direct = connect.kafka(servers=kafka, topic=topic + "-direct", partitions=2, guarantee="at_least_once")
    flat.write("direct", direct)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """One master and two workers of one core each."""
    place = tmp_path_factory.mktemp("cluster")
    started = spark_cluster.start(place, ClusterOptions(workers=2, cores=1, memory="512m", port=0))
    yield started
    (spark_cluster.running_cluster(place) or started).stop()
    assert not any(node.process.running for node in started.nodes)


@pytest.fixture
def expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Write the input, one file per minute, and return key, count and latest value of each window."""
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    counts: Counter[tuple[int, int]] = Counter()
    latest: dict[tuple[int, int], int] = {}
    for minute in range(FILES):
        lines = [(number % 7, minute * ROWS + number, number) for number in range(ROWS)]
        text = "".join(f"k{k},{v},2026-03-02T09:{minute:02}:{s:02}Z\n" for k, v, s in lines)
        file = Path(f"in/{minute:02}.csv")
        file.write_text(text)
        os.utime(file, (1_700_000_000 + minute, 1_700_000_000 + minute))  # Spark reads the oldest first
        for k, v, _ in lines:
            counts[minute, k] += 1
            latest[minute, k] = v
    return sorted((f"k{k}", n, latest[minute, k]) for (minute, k), n in counts.items())


def write_pipeline(postgres: str = "", kafka: str = "", topic: str = "") -> None:
    Path("pipeline.py").write_text(PIPELINE.format(postgres=postgres, kafka=kafka, topic=topic))


def start_run(
    cluster: SparkCluster, log: Path, file: str = "pipeline.py", settings: Sequence[str] = SMALL
) -> subprocess.Popen[bytes]:
    conf = [word for setting in settings for word in ("--conf", setting)]
    command = [sys.executable, "-m", "headrace.cli.app", "run", file, "--drain", "--quiet"]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*command, "--master", cluster.master, *conf, "--checkpoint", "checkpoint"],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def epochs() -> int:
    return len(list(Path("checkpoint/queries/counts/spark/commits").glob("[0-9]*")))


def finish(run: subprocess.Popen[bytes], log: Path) -> None:
    assert run.wait(timeout=TIMEOUT) == 0, log.read_text()[-3000:]


def rows_of_files() -> list[tuple[str, int, int]]:
    lines = [line for file in Path("out").glob("*.json") for line in file.read_text().splitlines()]
    return sorted((row["k"], row["n"], row["latest"]) for row in map(json.loads, lines))


def rows_of_table() -> list[tuple[str, int, int]]:
    with sqlite3.connect("out.db") as database:
        return sorted(database.execute("select k, n, latest from counts").fetchall())


def executors(cluster: SparkCluster) -> dict[int, str]:
    """Return the processes of executors, each with the name of its worker."""
    actual: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        pid = int(process.name)
        if "CoarseGrainedExecutorBackend" in command_line(pid):
            with suppress(OSError):
                place = (process / "cwd").readlink()
                if place.is_relative_to(cluster.directory):
                    actual[pid] = place.relative_to(cluster.directory).parts[0]
    return actual


def kill_driver(run: subprocess.Popen[bytes]) -> None:
    """Kill the run with its JVM, which is in the session of the run or a group of its own."""
    children = [int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(int(path.name)) == run.pid]
    for pid in (run.pid, *children):
        os.kill(pid, signal.SIGKILL)
    run.wait()


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def wait_for_epochs(number: int, run: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + TIMEOUT
    while epochs() < number:
        assert run.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


def rows_of_topic(client: Client, topic: str) -> list[tuple[str, int, int]]:
    records = [json.loads(record.value or "") for record in held(client, topic)]
    return sorted((row["k"], row["n"], row["latest"]) for row in records)
