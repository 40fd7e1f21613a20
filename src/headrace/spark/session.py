"""Create the SparkSession, or check the one that is active.

The defaults are a local master, state in RocksDB (changelog checkpoints, state checkpoint format 2) and UTC.
Any `spark.*` setting and master is passed to Spark. Spark logs to a file (`headrace.spark.launch.log_file`).
The kernel jar is on the class path of driver and executors; a session with another kernel is rejected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import OptionError, SetupError
from headrace.spark.cache import cache_directory
from headrace.spark.cluster import (
    LOCAL_ADDRESS,
    dynamic_allocation_settings,
    fit_partitions,
    is_on_this_machine,
)
from headrace.spark.gateway import JavaError, has_class, is_launched, java_session, kernel, system_property
from headrace.spark.java import java_options, require_safe_java
from headrace.spark.kernel_jar import ensure_kernel_jar, minor_version, read_properties
from headrace.spark.launch import BY_SUBMIT, DRIVER_OPTIONS, active_session, cores, start, submitted_settings
from headrace.spark.package_archive import build_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATE = "spark.sql.streaming.stateStore"
REQUIRED = {
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE}.checkpointFormatVersion": "2",
    # Seals the files of a checkpoint. On a local disk, Spark's own class starts eight processes for each.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.headrace.compat.CheckpointFiles",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Spark would replace `${env:HOME}` and `${spark.x}` in every expression, inside texts too.
    "spark.sql.variable.substitute": "false",
}
"""Settings of every session, because checkpoints and results depend on them."""

_HINTS = {
    "spark.sql.session.timeZone": "convert times in expressions: from_utc_timestamp(ts, 'Europe/Paris')"
}

FAST = {
    # With this counter, Spark reads every state row before it writes or removes it.
    f"{STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # How often an idle query asks its source for rows. Spark's 10 ms keep a core busy for 8 % of the time.
    "spark.sql.streaming.pollingDelay": "50ms",
    # Spark allocates whole blocks, two for each of the many small broadcasts of a micro-batch. The default of
    # 4 MB is humongous for G1, which then marks the heap again and again.
    "spark.broadcast.blockSize": "256k",
}

IN_PROCESS = {"spark.hadoop.fs.file.impl": "org.apache.spark.sql.headrace.compat.LocalFiles"}
"""Hadoop's own class starts `chmod` for each local file. Executors load it before they have the kernel."""

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def open_session(
    name: str = "headrace",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    jars: Sequence[Path] = (),
    log_directory: Path | None = None,
    inherited: Sequence[int] = (),
    report: Callable[[str], None] | None = None,
) -> SparkSession:
    """Return the active SparkSession, or start one.

    Settings that Spark can change at run time are applied to an active session; others must be equal.

    Args:
        name: the name of the Spark application.
        master: Spark's master URL; default: `local[*]`.
        conf: `spark.*` settings; they override all defaults except those that results depend on.
        jars: additional jars for driver and executors, such as those of a connector.
        log_directory: directory of Spark's log; default: `logs` in the cache directory.
        inherited: file descriptors that a new JVM inherits, such as that of a lock.
        report: receives messages about the compilation of the kernel; default: standard error.

    Raises:
        SetupError: Java, pyspark or the kernel is missing, Spark did not start, or the active session has
            other settings.
        OptionError: the name of a setting does not start with `spark.`, or its value is invalid.

    >>> spark = open_session(master="local[2]")                      # doctest: +SKIP
    >>> spark.conf.get("spark.sql.session.timeZone")                 # doctest: +SKIP
    'UTC'
    """
    requested = _check_settings(master, conf or {})
    _reject_connect()
    kernel = ensure_kernel_jar(report or _to_stderr)
    session = active_session()
    if session is None:
        settings = _settings(name, submitted_settings() | requested, kernel, jars)
        session = _borrow(settings, inherited) or start(settings, jars, log_directory, inherited)
        _prepare_cluster(session, settings)
    else:
        running = dict(session.sparkContext.getConf().getAll())
        require_safe_java(
            system_property("java.version") or "", java_options(running, "driver"), DRIVER_OPTIONS
        )
        _adapt_session(session, requested, jars)
    _verify_kernel(session, kernel)
    return session


def settings_for(
    name: str,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    jars: Sequence[str | Path] = (),
) -> dict[str, str]:
    """Return the settings with which `open_session` starts Spark."""
    requested = submitted_settings() | _check_settings(master, conf or {})
    return _settings(name, requested, ensure_kernel_jar(_to_stderr), list(map(Path, jars)))


def _borrow(settings: Mapping[str, str], inherited: Sequence[int]) -> SparkSession | None:
    """Return a session of a warm JVM with these settings on this machine, if there is one."""
    if cores(settings["spark.master"]) is None or is_launched() or BY_SUBMIT in os.environ:
        return None
    from headrace.spark.warm.client import borrow

    return borrow(settings, inherited)


def _check_settings(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    for key in conf:
        if not key.startswith("spark."):
            raise OptionError(
                f"expected a Spark setting, got {key!r}", where="conf", hint="names start with `spark.`"
            )
    settings = {key: str(value) for key, value in conf.items()}
    for key, value in REQUIRED.items():
        if settings.get(key, value) != value:
            raise OptionError(
                f"expected {value}, got {settings[key]!r}: checkpoints and results depend on it",
                where=f"conf {key}",
                hint=_HINTS.get(key, "leave it out"),
            )
    return settings | ({"spark.master": master} if master else {})


def _reject_connect() -> None:
    if remote := os.environ.get("SPARK_REMOTE"):
        raise SetupError(
            f"expected classic Spark, got Spark Connect (SPARK_REMOTE is {remote})",
            where="session",
            hint="unset SPARK_REMOTE, and set the cluster with --master",
        )


def _settings(name: str, requested: Mapping[str, str], kernel: Path, jars: Sequence[Path]) -> dict[str, str]:
    master = requested.get("spark.master") or os.environ.get("MASTER") or "local[*]"
    settings = {"spark.app.name": name, "spark.master": master} | REQUIRED | FAST | QUIET
    if (width := cores(master)) is not None:
        settings |= {
            "spark.sql.shuffle.partitions": str(width),
            "spark.default.parallelism": str(width),
        }
        if not is_launched() and BY_SUBMIT not in os.environ:  # the kernel is on the class path of the JVM
            settings |= IN_PROCESS
    if width is not None or is_on_this_machine(master):
        settings |= LOCAL_ADDRESS
    settings["spark.sql.warehouse.dir"] = str(cache_directory() / "warehouse")
    settings |= dynamic_allocation_settings(requested)
    settings |= requested
    paths = [str(jar) for jar in (kernel, *jars)]
    settings["spark.jars"] = ",".join([*paths, *filter(None, [requested.get("spark.jars")])])
    class_path = "spark.driver.extraClassPath"
    settings[class_path] = os.pathsep.join([str(kernel), *filter(None, [requested.get(class_path)])])
    return settings


def _prepare_cluster(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Send the Python package to the executors of a cluster and set the number of partitions."""
    master = settings["spark.master"]
    if cores(master) is not None:
        return
    if not is_on_this_machine(master):
        session.sparkContext.addPyFile(str(build_archive()))
    fit_partitions(session, settings)
    options = java_options(settings, "executor")
    for release in _executor_releases(session):
        require_safe_java(release, options, "spark.executor.extraJavaOptions")


def _executor_releases(session: SparkSession) -> list[str]:
    """Return the versions of Java of the executors."""
    tasks = 4 * session.sparkContext.defaultParallelism
    release = "java_method('java.lang.System', 'getProperty', 'java.version') as release"
    rows = session.range(0, tasks, 1, tasks).selectExpr(release).distinct().collect()
    return sorted(row.release for row in rows)


def _adapt_session(session: SparkSession, requested: Mapping[str, str], jars: Sequence[Path]) -> None:
    """Apply settings to a running session; reject the session if it cannot have them."""
    wanted = REQUIRED | dict(requested)
    current = {key: session.conf.get(key, None) for key in wanted}
    conflicts = [
        f"{key} is {current[key]}, expected {value}"
        for key, value in wanted.items()
        if current[key] != value and not _change_setting(session, key, value)
    ]
    loaded = (session.conf.get("spark.jars", None) or "").split(",")
    conflicts += [f"{jar.name} is not among its jars" for jar in jars if str(jar) not in loaded]
    if conflicts:
        raise SetupError(
            f"Spark already runs in this process, and {'; '.join(conflicts)}",
            where="session",
            hint="stop it first (spark.stop()), or leave these settings out",
        )


def _change_setting(session: SparkSession, key: str, value: str) -> bool:
    """Change a setting that Spark reads for each query; return False for one that it reads only at start."""
    from pyspark.errors import AnalysisException, IllegalArgumentException

    if not key.startswith(("spark.sql.", "spark.hadoop.")):
        return False
    try:
        session.conf.set(key, value)
    except AnalysisException:
        return False
    except IllegalArgumentException as error:
        raise OptionError(str(error), where=f"conf {key}") from error
    return True


def _verify_kernel(session: SparkSession, jar: Path) -> None:
    version = kernel(session).Kernel
    if not has_class(version):
        raise SetupError(
            "the running Spark has no Headrace kernel",
            where="session",
            hint=f"let Headrace start it, or set spark.jars and spark.driver.extraClassPath to {jar}",
        )
    if minor_version(version.builtFor()) != minor_version(version.runsOn()):
        raise SetupError(
            f"the kernel was compiled for Spark {version.builtFor()}, this is Spark {version.runsOn()}",
            where="session",
            hint=f"the driver needs the version of the cluster: pip install pyspark=={version.runsOn()}",
        )
    if version.digest() != read_properties(jar).get("digest"):
        raise SetupError(
            "the running Spark has another version of the Headrace kernel",
            where="session",
            hint="restart this Python process",
        )
    _test_compatibility(session)
    kernel(session).encode.Encode.prepare(java_session(session))


def _test_compatibility(session: SparkSession) -> None:
    """Run the kernel's self-tests of private classes of Spark and Kafka; fallbacks are logged."""
    try:
        kernel(session).Kernel.selfTest()
    except JavaError as error:
        raise SetupError(
            str(error.java_exception.getMessage()), where="session", hint="install another version of pyspark"
        ) from error


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
