"""Fixtures of all tests: one Spark session for the whole run; skips are failures in CI."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Tests start many JVMs that live for seconds: on two cores the second compiler and the parallel collector
# cost more than they give. Without the second compiler, Java reserves 48 MiB for compiled code, which a session
# of hundreds of queries fills: deleting and compiling methods again took a sixth of its time. Inherited by every
# process that a test starts.
os.environ.setdefault(
    "JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
)

# The same generated cases in every run, so that a failure belongs to the change that caused it. New ones are
# found with HYPOTHESIS_PROFILE=random. How long they take is never a fault: machines differ.
TIMELESS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", TIMELESS, derandomize=True, database=None)
settings.register_profile("random", TIMELESS, derandomize=False)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fixed")
settings.load_profile(PROFILE)
if PROFILE == "fixed":
    # Hypothesis also draws constants of those modules of ours that are loaded: which ones depends on the
    # tests that ran before.
    pytest.MonkeyPatch().setattr(providers, "_get_local_constants", Constants)


# Tests that mostly wait: for servers, browsers, clocks and processes that they kill.
WAITING = ("tests/dashboard", "tests/recovery", "tests/services")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix the files that wait with those that compute, so that the workers use both cores; unit tests are last."""
    waiting: dict[Path, float] = {}
    computing: dict[Path, float] = {}
    position: dict[Path, float] = {}
    for item in items:
        place = str(item.path.relative_to(config.rootpath))
        if place.startswith("tests/unit"):
            position[item.path] = 1
        else:
            group = waiting if place.startswith(WAITING) else computing
            group.setdefault(item.path, len(group))
    for group in (waiting, computing):
        position |= {path: n / len(group) for path, n in group.items()}
    items.sort(key=lambda item: position[item.path])


@cache
def shared_session() -> SparkSession:
    """A small local Spark as `headrace run` starts it, or the cluster of `MASTER`; the tests share it."""
    from headrace.spark.jars import fetch
    from headrace.spark.session import open_session

    directory = Path(tempfile.mkdtemp(prefix="headrace-tests-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return open_session(
        "headrace-tests",
        master=os.environ.get("MASTER", "local[2]"),
        conf={
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(directory / "warehouse"),
            "spark.local.dir": str(directory / "local"),
        },
        jars=fetch("kafka"),  # a session can't be given jars later
        log_directory=directory,
    )


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The session that all tests share."""
    return shared_session()


def pytest_headrace_session() -> SparkSession:
    """Transcripts run in the same session."""
    return shared_session()


def pytest_sessionfinish() -> None:
    """Stop Spark, if any test has started it."""
    if shared_session.cache_info().currsize:
        shared_session().stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI every test must run: what is skipped there for want of a server would never run anywhere."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI doesn't allow: {report.longrepr}"
    return report
