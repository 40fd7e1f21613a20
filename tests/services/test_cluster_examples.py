"""Every example gives its expected rows on a standalone cluster of one master and two workers.

It runs the tests of `tests/examples` with `MASTER` set to the cluster;
`test_spark_cluster.py` has a sample.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.devtools import spark_cluster
from headrace.devtools.spark_cluster import ClusterOptions, SparkCluster
from tests.support.examples_at_hand import NAMES

pytestmark = pytest.mark.proof

ROOT = Path(__file__).parents[2]
WITHOUT_SESSION = ("demo", "every_example", "without_jvm")
"""Tests that start a local Spark of their own, or none."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    started = spark_cluster.start(tmp_path / "cluster", ClusterOptions(workers=2, cores=1, port=0))
    yield started
    started.stop()


@pytest.mark.timeout(7200)
def test_every_example_gives_its_expected_rows(cluster: SparkCluster, tmp_path: Path) -> None:
    ignored = [f"--ignore=tests/examples/test_{name}.py" for name in WITHOUT_SESSION]
    report = tmp_path / "report.txt"
    with report.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-v", "tests/examples", *ignored],
            cwd=ROOT,
            env={**os.environ, "MASTER": cluster.master},
            stdout=output,
            stderr=output,
            check=False,
        )
    lines = report.read_text().splitlines()
    assert done.returncode == 0, "\n".join(lines[-60:])
    passed = [line for line in lines if "PASSED" in line]
    streams = [line for line in passed if "_batch_" not in line]
    missing = [
        name
        for name in NAMES
        if not any(f"[{name}-" in line or f"test_{name}.py" in line for line in streams)
    ]
    assert missing == []
    launched = [list(cluster.log(worker).parent.glob("work/app-*/*")) for worker in cluster.workers]
    assert all(launched)  # both workers have had an executor
