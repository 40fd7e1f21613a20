"""Start the JVM of Spark with its output in a log file, and report the reason if it does not start.

A process has one JVM. It is started as pyspark does, with explicit paths of Java, Spark and Python.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import SetupError
from headrace.spark.cache import cache_directory
from headrace.spark.class_archive import RECORD, archive_options
from headrace.spark.cluster import is_on_this_machine
from headrace.spark.gateway import JavaError, is_launched, java_message, launch_jvm, system_property
from headrace.spark.java import Java, find_java, java_options, require_safe_java
from headrace.spark.kernel_jar import find_spark_home, spark_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG4J = Path(__file__).with_name("log4j2.properties")
LOG_PROPERTY = "headrace.log"
MAX_LOGS = 10
REGIONS = "-XX:G1HeapRegionSize=8m"
"""By default small heaps have regions of 1 MB. Buffers of Spark and Kafka are larger than half a region, and
such allocations start marking cycles: pauses of tens of milliseconds in real-time mode.
"""
COMPILATION = "-XX:CompileThresholdScaling=6"
"""A method is compiled after six times as many calls as by default. Of the thousands of methods that plan an
epoch, most are then never compiled, while those that process rows are compiled soon after the start.
"""
DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""The variable for jars at the end of the class path, where they leave the class archive valid."""
BY_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit for its Python process: the port of the running JVM."""


def active_session() -> SparkSession | None:
    """Return the session of this process, if Spark runs in it."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SetupError(
            f"pyspark cannot be imported: {error}", where="spark", hint="pip install headrace"
        ) from error

    # pyspark keeps the session object of a stopped context, so check the context.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def submitted_settings() -> dict[str, str]:
    """Return the settings of spark-submit, if it started this process."""
    if BY_SUBMIT not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def start(
    settings: Mapping[str, str],
    jars: Sequence[Path],
    log_directory: Path | None,
    inherited: Sequence[int] = (),
) -> SparkSession:
    """Return a new session with these settings; start a JVM unless the process has one.

    Args:
        settings: all settings of Spark.
        jars: jars for the end of the class path, after those of Spark.
        log_directory: the directory of Spark's log.
        inherited: file descriptors that a new JVM inherits, such as that of a lock.

    Raises:
        SetupError: Spark did not start, and the error quotes the log; or this Java can corrupt data.
    """
    from pyspark.sql import SparkSession

    _quieten()
    java, home = find_java(), spark_home()
    release = system_property("java.version") or java.release
    require_safe_java(release, java_options(settings, "driver"), DRIVER_OPTIONS)
    with _environment(settings["spark.master"], java, home, jars):
        if not is_launched():
            log = _new_log(log_directory or cache_directory() / "logs")
            _launch(settings, archive_options(java, home), log, inherited)
        try:
            return SparkSession.builder.config(map=dict(settings)).getOrCreate()
        except Exception as error:
            raise _failure(error, log_file()) from error


def log_file() -> Path | None:
    """Return Spark's log file, if this process started the JVM."""
    named = system_property(LOG_PROPERTY)
    return Path(named) if named else None


def cores(master: str) -> int | None:
    """Return the number of concurrent tasks of a local master; None for a cluster.

    >>> cores("local[3]"), cores("local"), cores("spark://host:7077")
    (3, 1, None)
    """
    match = re.fullmatch(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?", master)
    if match is None:
        return None
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1] or 1)


def _launch(settings: Mapping[str, str], archive: str, log: Path, inherited: Sequence[int]) -> None:
    """Start the JVM with its output in the log.

    `archive` has the options of the class archive; a JVM that records an archive cannot use one.
    """
    from pyspark import SparkConf

    logging = f'-Dlog4j2.configurationFile={LOG4J.as_uri()} -D{LOG_PROPERTY}="{log}"'
    theirs = settings.get(DRIVER_OPTIONS, "")
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    ours = f"{logging} -Duser.timezone=UTC {REGIONS} {COMPILATION} {'' if RECORD in theirs else archive}"
    configuration.set(DRIVER_OPTIONS, f"{ours} {theirs}".strip())
    try:
        with log.open("ab") as output:
            launch_jvm(configuration, output, inherited)
    except Exception as error:
        raise _failure(error, log) from error


def _new_log(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for old in sorted(directory.glob("spark-*.log"))[: -MAX_LOGS + 1]:
        for part in directory.glob(f"{old.name}*"):
            part.unlink(missing_ok=True)
    return directory.absolute() / f"spark-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"


def _quieten() -> None:
    """Disable loggers of pyspark that print, as JSON with a Java stack trace, errors that it also raises."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


@contextmanager
def _environment(master: str, java: Java, home: Path, jars: Sequence[Path]) -> Iterator[None]:
    """Set the environment variables that Spark's launcher and pyspark read while they start."""
    last = [*map(str, jars), *filter(None, [os.environ.get(CLASS_PATH)])]
    wanted = {"JAVA_HOME": str(java.launcher_home()), "SPARK_HOME": str(home)}
    wanted |= {CLASS_PATH: os.pathsep.join(last)} if last else {}
    if cores(master) is not None or is_on_this_machine(master):  # elsewhere the executors name their Python
        wanted["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def spark_home() -> Path:
    """Return the directory of pyspark's Spark; `SPARK_HOME` only if it has the same version."""
    ours = find_spark_home()
    named = os.environ.get("SPARK_HOME")
    same = bool(named) and any(Path(str(named)).glob(f"jars/spark-core_2.13-{spark_version(ours)}.jar"))
    return Path(str(named)) if same else ours


def _failure(error: Exception, log: Path | None) -> SetupError:
    return SetupError(
        f"Spark did not start: {_reason(error, log)}",
        where="spark",
        hint=f"see its log: {log}" if log else "stop the other Spark session of this process first",
    )


def _reason(error: Exception, log: Path | None) -> str:
    """Return the reason of a failed start: the error of the JVM, or the output of its launcher."""
    if isinstance(error, JavaError):
        return java_message(error)
    lines = log.read_text(errors="replace").splitlines() if log else []
    messages = [line.strip() for line in lines if line.strip() and not re.search("WARN|Picked up J", line)]
    thrown = [line for line in messages if "Exception" in line]
    return next(iter([*thrown, *messages, str(error)]))
