"""The sockets of warm sessions: one for each working directory and settings of Spark."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from headrace.spark.cache import cache_directory
from headrace.spark.kernel_jar import JAR, read_properties

OFF = "HEADRACE_WARM"
"""Set to `off`: a process starts its own JVM, such as the driver of a job, which runs for days."""
_NAMED = ("spark.app.name", "spark.app.id", "spark.app.startTime")
_PREFIXES = ("SPARK_", "PYSPARK_", "PYTHON", "JAVA", "HADOOP_", "AWS_", "OMP_")
"""Variables of the environment that the JVM, its libraries and Python workers read."""


def socket_of(settings: Mapping[str, str]) -> Path:
    """Return the socket of the warm session with these settings, in this directory and environment.

    >>> first, second = socket_of({"spark.master": "local[2]"}), socket_of({"spark.master": "local[4]"})
    >>> first == second, first.parent == second.parent
    (False, True)
    """
    environment = {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}
    facts = {
        "settings": {name: value for name, value in sorted(settings.items()) if name not in _NAMED},
        "directory": str(Path.cwd()),
        "environment": dict(sorted(environment.items())),
        "python": sys.executable,
        "kernel": read_properties(JAR).get("digest") if JAR.exists() else None,
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return directory() / f"{digest[:24]}.sock"


def directory() -> Path:
    """Return the directory of the sockets."""
    return cache_directory() / "warm"


def sockets() -> Iterator[Path]:
    """Yield the sockets of all warm sessions of this user."""
    yield from sorted(directory().glob("*.sock"))
