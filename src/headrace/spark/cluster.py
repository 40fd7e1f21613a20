"""Settings of a session on a cluster: addresses, and the number of shuffle partitions from its cores.

Spark's default of 200 shuffle partitions means 200 state stores per stateful step, each with files of its own
in every epoch. A session on a cluster therefore waits until its executors have registered and then uses one
partition per core, as a local session does. A checkpoint keeps the number of its first run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.errors import SetupError
from headrace.spark.gateway import executor_count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"
START_TIMEOUT = 120.0
"""Seconds to wait for the first executor."""
SETTLE_TIME = 2.0
"""Seconds without another executor after which those that have registered are taken for all."""
_POLL = 0.1
_LOOPBACK = re.compile(r"spark://(?:127\.[\d.]+|localhost|\[::1\])(?::\d+)?(?:,.*)?")
LOCAL_ADDRESS = {
    # The name of a laptop may lead to a network it has just left.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def is_on_this_machine(master: str) -> bool:
    """Return True for a standalone cluster on the loopback interface, such as that of `headrace cluster up`.

    >>> is_on_this_machine("spark://127.0.0.1:7077"), is_on_this_machine("spark://host:7077")
    (True, False)
    """
    return _LOOPBACK.fullmatch(master) is not None


def fit_partitions(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Wait for the executors of a new session, and use one shuffle partition per core.

    A number that is set explicitly stays.

    Raises:
        SetupError: no executor has started.
    """
    executors = await_executors(session, int(settings.get("spark.executor.instances", 0)))
    if not executors:
        raise SetupError(
            f"no executor has started at {settings['spark.master']} within {START_TIMEOUT:.0f} seconds",
            where="spark",
            hint="does the cluster have free cores, and workers with spark.executor.memory (default 1g)?",
        )
    if PARTITIONS not in settings:
        session.conf.set(PARTITIONS, str(session.sparkContext.defaultParallelism))


def await_executors(session: SparkSession, expected: int) -> int:
    """Wait until the expected number of executors has registered, or no more join, and return the number."""
    deadline = time.monotonic() + START_TIMEOUT
    seen, since = 0, time.monotonic()
    while time.monotonic() < deadline:
        number = executor_count(session)
        if number != seen:
            seen, since = number, time.monotonic()
        if seen and (seen >= expected > 0 or time.monotonic() - since > SETTLE_TIME):
            break
        time.sleep(_POLL)
    return seen


def executor_settings(executors: int | None, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark settings for a number of executors; each has one core, unless `conf` sets it.

    A standalone cluster limits the cores of an application, other cluster managers the executors.

    >>> executor_settings(4, {"spark.executor.cores": "2"})["spark.cores.max"]
    '8'
    """
    if executors is None:
        return {}
    cores = int(conf.get("spark.executor.cores", 1))
    return {
        "spark.executor.instances": str(executors),
        "spark.executor.cores": str(cores),
        "spark.cores.max": str(executors * cores),
    }
