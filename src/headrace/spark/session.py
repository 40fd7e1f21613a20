"""One place that builds the SparkSession.

Local by default, with RocksDB for state (changelog checkpoints, state checkpoint format 2) and UTC. Any
`spark.*` setting and any master are passed through. Nothing of Spark's own talk reaches the terminal: it goes
to a file, whose path `headrace.spark.launch.log_file` gives. The kernel is on the class path of driver and
executors, and a session is refused whose kernel is missing, old or made for another Spark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import OptionError, SetupError
from headrace.spark.cache import cache_directory
from headrace.spark.cluster import LOCAL_ADDRESS, fit_partitions, is_on_this_machine
from headrace.spark.gateway import JavaError, has_class, kernel
from headrace.spark.kernel_jar import ensure_kernel_jar, read_properties
from headrace.spark.launch import active_session, cores, start, submitted_settings
from headrace.spark.package_archive import build_archive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATE = "spark.sql.streaming.stateStore"
REQUIRED = {
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE}.checkpointFormatVersion": "2",
    "spark.sql.session.timeZone": "UTC",
}
"""What every session has, a reused one as well, because checkpoints and results depend on it."""

_HINTS = {
    "spark.sql.session.timeZone": "convert times in expressions: from_utc_timestamp(ts, 'Europe/Paris')"
}

FAST = {
    # To count state rows Spark would look up every row before it writes or removes it.
    f"{STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # On this machine's disk Spark's own starts eight processes for each file of a checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.headrace.compat.CheckpointFiles",
}

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def open_session(
    name: str = "headrace",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    jars: Sequence[Path] = (),
    log_directory: Path | None = None,
    report: Callable[[str], None] | None = None,
) -> SparkSession:
    """Return the SparkSession that Headrace runs in: the active one where it fits, else a new one.

    Args:
        name: What Spark shows as the application's name.
        master: The cluster, as Spark spells it; default: `local[*]`.
        conf: Any `spark.*` settings; they win over Headrace's own, except for those that results depend on.
        jars: More jars for driver and executors, such as a connector's.
        log_directory: Where Spark's log goes; the cache directory's `logs` by default.
        report: Gets a line when the kernel has to be compiled first; standard error by default.

    A process has one Spark. If it already runs, settings that Spark can still change are applied to it, and
    others that differ are refused.

    Raises:
        SetupError: Java, pyspark or the kernel is missing, Spark didn't start, or the running session doesn't
            fit.
        OptionError: A setting's name doesn't start with `spark.`, or Spark doesn't take its value.

    >>> spark = open_session(master="local[2]")                      # doctest: +SKIP
    >>> spark.conf.get("spark.sql.session.timeZone")                 # doctest: +SKIP
    'UTC'
    """
    requested = _check_session(master, conf or {})
    _refuse_connect()
    kernel = ensure_kernel_jar(report or _to_stderr)
    session = active_session()
    if session is None:
        settings = _settings(name, submitted_settings() | requested, kernel, jars)
        session = start(settings, jars, log_directory)
        _fit_cluster(session, settings)
    else:
        _fit(session, requested, jars)
    _verify_kernel(session, kernel)
    return session


def _check_session(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    for key in conf:
        if not key.startswith("spark."):
            raise OptionError(
                f"expected a Spark setting, got {key!r}", where="conf", hint="its name starts with `spark.`"
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


def _refuse_connect() -> None:
    if remote := os.environ.get("SPARK_REMOTE"):
        raise SetupError(
            f"expected classic Spark, got Spark Connect (SPARK_REMOTE is {remote})",
            where="session",
            hint="unset SPARK_REMOTE, and name the cluster with --master",
        )


def _settings(name: str, requested: Mapping[str, str], kernel: Path, jars: Sequence[Path]) -> dict[str, str]:
    master = requested.get("spark.master") or os.environ.get("MASTER") or "local[*]"
    settings = {"spark.app.name": name, "spark.master": master} | REQUIRED | FAST | QUIET
    if (width := cores(master)) is not None:
        settings |= {
            "spark.sql.shuffle.partitions": str(width),
            "spark.default.parallelism": str(width),
        }
    if width is not None or is_on_this_machine(master):
        settings |= LOCAL_ADDRESS
    settings["spark.sql.warehouse.dir"] = str(cache_directory() / "warehouse")
    settings |= requested
    paths = [str(jar) for jar in (kernel, *jars)]
    settings["spark.jars"] = ",".join([*paths, *filter(None, [requested.get("spark.jars")])])
    class_path = "spark.driver.extraClassPath"
    settings[class_path] = os.pathsep.join([str(kernel), *filter(None, [requested.get(class_path)])])
    return settings


def _fit_cluster(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Send the Python package to a cluster, and fit the number of partitions to its cores."""
    master = settings["spark.master"]
    if cores(master) is not None:
        return
    if not is_on_this_machine(master):
        session.sparkContext.addPyFile(str(build_archive()))
    fit_partitions(session, settings)


def _fit(session: SparkSession, requested: Mapping[str, str], jars: Sequence[Path]) -> None:
    """Apply to a running session what it still lacks, or refuse it."""
    wanted = REQUIRED | dict(requested)
    differs = {
        key: session.conf.get(key, None) for key in wanted if session.conf.get(key, None) != wanted[key]
    }
    fixed = [
        f"{key} is {current}, asked for {wanted[key]}"
        for key, current in differs.items()
        if not _find_changed(session, key, wanted[key])
    ]
    loaded = (session.conf.get("spark.jars", None) or "").split(",")
    fixed += [f"{jar.name} is not among its jars" for jar in jars if str(jar) not in loaded]
    if fixed:
        raise SetupError(
            f"Spark already runs in this process, and {'; '.join(fixed)}",
            where="session",
            hint="stop it first (spark.stop()), or leave these settings out",
        )


def _find_changed(session: SparkSession, key: str, value: str) -> bool:
    """Set it, if Spark reads it anew for each query; what it reads only at its start would have no effect."""
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
            hint=f"let Headrace start it, or give it spark.jars and spark.driver.extraClassPath = {jar}",
        )
    if version.builtFor() != version.runsOn():
        raise SetupError(
            f"the kernel was compiled for Spark {version.builtFor()}, this is Spark {version.runsOn()}",
            where="session",
            hint=f"pip install pyspark=={version.builtFor()}",
        )
    if version.digest() != read_properties(jar).get("digest"):
        raise SetupError(
            "the running Spark has another version of the Headrace kernel",
            where="session",
            hint="end this Python process and start again",
        )
    _test_compatibility(session)


def _test_compatibility(session: SparkSession) -> None:
    """Run the kernel's self-tests of private classes of Spark and Kafka; it logs those that fall back."""
    try:
        kernel(session).Kernel.selfTest()
    except JavaError as error:
        raise SetupError(
            str(error.java_exception.getMessage()), where="session", hint="install another version of pyspark"
        ) from error


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
