"""Settings of sessions on clusters, and the archive of the package that executors import."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import SetupError
from headrace.spark import cluster
from headrace.spark.package_archive import build_archive


class FakeSession:
    """A session of four cores whose executors register one by one."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts
        self.settings: dict[str, str] = {}
        self.conf = SimpleNamespace(set=self.settings.__setitem__)
        self.sparkContext = SimpleNamespace(defaultParallelism=4)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    def count(session: Any) -> int:
        return int(session.counts.pop(0) if len(session.counts) > 1 else session.counts[0])

    monkeypatch.setattr(cluster, "executor_count", count)
    monkeypatch.setattr(cluster, "SETTLE_TIME", 0.3)
    return FakeSession


def test_partitions_are_the_cores_of_the_registered_executors(session: Any) -> None:
    made = session([0, 0, 1, 2])
    cluster.fit_partitions(made, {"spark.master": "spark://h:7077"})
    assert made.settings == {"spark.sql.shuffle.partitions": "4"}
    assert made.counts == [2]


def test_number_of_partitions_that_is_set_stays(session: Any) -> None:
    made = session([1])
    cluster.fit_partitions(made, {"spark.master": "yarn", "spark.sql.shuffle.partitions": "64"})
    assert made.settings == {}


DYNAMIC = {"spark.master": "spark://h:7077", "spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize("name", ["spark.dynamicAllocation.minExecutors", "spark.executor.instances"])
def test_dynamic_allocation_starts_with_one_executor_unless_set(name: str) -> None:
    initial = {"spark.dynamicAllocation.initialExecutors": "1"}
    assert cluster.dynamic_allocation_settings(DYNAMIC) == initial
    assert cluster.dynamic_allocation_settings({**DYNAMIC, name: "2"}) == {}
    assert cluster.dynamic_allocation_settings({"spark.master": "spark://h:7077"}) == {}


def test_dynamic_allocation_has_partitions_for_its_largest_number_of_executors(session: Any) -> None:
    made, largest = session([1]), {"spark.dynamicAllocation.maxExecutors": "6", "spark.executor.cores": "2"}
    cluster.fit_partitions(made, {**DYNAMIC, **largest})
    assert made.settings == {"spark.sql.shuffle.partitions": "12"}
    cluster.fit_partitions(made, DYNAMIC)
    assert made.settings == {"spark.sql.shuffle.partitions": "4"}


def test_dynamic_allocation_waits_for_its_smallest_number_of_executors(session: Any) -> None:
    made = session([1, 2, 3])
    cluster.fit_partitions(made, {**DYNAMIC, "spark.dynamicAllocation.minExecutors": "2"})
    assert made.counts == [3]


def test_cluster_without_an_executor_is_an_error(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "START_TIMEOUT", 0.2)
    with pytest.raises(SetupError, match=r"no executor has started at spark://h:7077.*\n  hint: does the"):
        cluster.fit_partitions(session([0]), {"spark.master": "spark://h:7077"})


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://host:7077", False),
        ("yarn", False),
        ("k8s://https://host:443", False),
    ],
)
def test_loopback_masters_are_on_this_machine(master: str, here: bool) -> None:
    assert cluster.is_on_this_machine(master) is here


@pytest.mark.slow
def test_package_is_importable_from_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    archive = build_archive()
    assert build_archive() == archive
    assert all(name.endswith(".py") for name in zipfile.ZipFile(archive).namelist())
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import headrace.aggregates as a; print(a.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(archive))
