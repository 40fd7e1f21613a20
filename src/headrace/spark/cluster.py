"""Settings of a session on a cluster: addresses and the number of shuffle partitions.

Spark's default of 200 shuffle partitions means 200 state stores per stateful step, each of which writes files
in every epoch. A session on a cluster therefore waits for its executors and uses one partition per core, like
a local session. With dynamic allocation it uses one partition per core of the largest number of executors. A
checkpoint keeps the number of its first run.
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
"""Seconds without a new executor after which registration is considered complete."""
_POLL = 0.1
_DYNAMIC = "spark.dynamicAllocation"
_LOOPBACK = re.compile(r"spark://(?:127\.[\d.]+|localhost|\[::1\])(?::\d+)?(?:,.*)?")
LOCAL_ADDRESS = {
    # The host name of a laptop may resolve to an address of a network that it has left.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def is_on_this_machine(master: str) -> bool:
    """Return True for a standalone cluster on the loopback interface, such as `headrace cluster up` starts.

    >>> is_on_this_machine("spark://127.0.0.1:7077"), is_on_this_machine("spark://host:7077")
    (True, False)
    """
    return _LOOPBACK.fullmatch(master) is not None


def dynamic_allocation_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the default of dynamic allocation: a session starts with one executor.

    Spark starts with none and requests the first when tasks wait; `fit_partitions` waits before there is one.

    >>> dynamic_allocation_settings({"spark.dynamicAllocation.enabled": "true"})
    {'spark.dynamicAllocation.initialExecutors': '1'}
    """
    if not _is_dynamic(settings) or _initial_executors(settings):
        return {}
    return {f"{_DYNAMIC}.initialExecutors": "1"}


def fit_partitions(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Wait for the executors of a new session; set one shuffle partition per core, unless `settings` has it.

    Raises:
        SetupError: no executor has registered within `START_TIMEOUT`.
    """
    executors = await_executors(session, _initial_executors(settings))
    if not executors:
        raise SetupError(
            f"no executor has started at {settings['spark.master']} within {START_TIMEOUT:.0f} seconds",
            where="spark",
            hint="does the cluster have free cores, and workers with spark.executor.memory (default 1g)?",
        )
    if PARTITIONS not in settings:
        cores = int(session.sparkContext.defaultParallelism)
        largest = int(settings.get(f"{_DYNAMIC}.maxExecutors", 0)) if _is_dynamic(settings) else 0
        session.conf.set(PARTITIONS, str(max(cores, largest * int(settings.get("spark.executor.cores", 1)))))


def _is_dynamic(settings: Mapping[str, str]) -> bool:
    return settings.get(f"{_DYNAMIC}.enabled", "false").lower() == "true"


def _initial_executors(settings: Mapping[str, str]) -> int:
    """Return the number of executors that Spark starts with; 0 if the cluster decides."""
    names = ["spark.executor.instances"]
    if _is_dynamic(settings):
        names += [f"{_DYNAMIC}.minExecutors", f"{_DYNAMIC}.initialExecutors"]
    return max(int(settings.get(name, 0)) for name in names)


def await_executors(session: SparkSession, expected: int) -> int:
    """Wait until `expected` executors have registered, or no more register, and return their number."""
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
    """Return the Spark settings for a number of executors, with one core each unless `conf` sets it.

    Includes `spark.cores.max`, because a standalone cluster limits cores, not executors.

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
