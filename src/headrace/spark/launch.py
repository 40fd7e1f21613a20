"""Start Spark's JVM quietly, in the environment it needs, and report the reason if it does not start.

Spark runs in one JVM a process. It is started as pyspark starts it, but with Java, pyspark's own Spark and
this Python named, and with its output in a log file.
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
from headrace.spark.java import Java, find_java
from headrace.spark.kernel_jar import find_spark_home, spark_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG4J = Path(__file__).with_name("log4j2.properties")
LOG_PROPERTY = "headrace.log"
KEPT_LOGS = 10
REGIONS = "-XX:G1HeapRegionSize=8m"
"""In regions of 1 MB, as small heaps have them, buffers of Spark's and Kafka's are too large for one: the
JVM then looks for garbage through all of its memory again and again, and in real time stands still for
tens of milliseconds at the end of each batch.
"""
_RARE = ("org.apache.xbean.asm9.ClassReader", "java.io.ObjectOutputStream", "java.io.ObjectInputStream")
UNHURRIED = " ".join(
    ["-XX:CompileCommand=quiet"]
    + [f"-XX:CompileCommand=CompileThresholdScaling,{name}::*,30.0" for name in _RARE]
)
"""For each job Spark reads the byte code of its own closures and serialises tasks. Java's optimising
compiler finds that worth some seconds of a core in the first half minute of a run, when it is the code of
the rows that should come first; so it is to wait until these have been called thirty times as often as
others.
"""
CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""The variable with the end of the class path. A class archive fits if the beginning is the same."""
BY_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""What spark-submit sets for the Python it starts: the way to the JVM that runs already."""


def active_session() -> SparkSession | None:
    """Return the session of this process, if Spark runs in it."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SetupError(
            f"pyspark can't be imported: {error}", where="spark", hint="pip install headrace"
        ) from error

    # A session outlives its stopped context in pyspark's memory; only a live context counts.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def submitted_settings() -> dict[str, str]:
    """Return the settings that spark-submit was given, if it started this process."""
    if BY_SUBMIT not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def start(settings: Mapping[str, str], jars: Sequence[Path], log_directory: Path | None) -> SparkSession:
    """Return a new session with these settings, in a JVM of its own unless the process has one.

    Args:
        settings: All of Spark's settings.
        jars: Jars for the end of the class path, after those of Spark.
        log_directory: Where Spark's log goes.

    Raises:
        SetupError: It didn't start; the error quotes the log.
    """
    from pyspark.sql import SparkSession

    _quieten()
    java, home = find_java(), spark_home()
    with _environment(settings["spark.master"], java, home, jars):
        if not is_launched():
            log = _new_log(log_directory or cache_directory() / "logs")
            _launch(settings, archive_options(java, home), log)
        try:
            return SparkSession.builder.config(map=dict(settings)).getOrCreate()
        except Exception as error:
            raise _failure(error, log_file()) from error


def log_file() -> Path | None:
    """Return the file that Spark writes its log to, if its JVM was started here."""
    named = system_property(LOG_PROPERTY)
    return Path(named) if named else None


def cores(master: str) -> int | None:
    """Return the number of tasks that a local master runs at once; None for a cluster.

    >>> cores("local[3]"), cores("local"), cores("spark://host:7077")
    (3, 1, None)
    """
    match = re.fullmatch(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?", master)
    if match is None:
        return None
    return (os.cpu_count() or 1) if match[1] == "*" else int(match[1] or 1)


def _launch(settings: Mapping[str, str], archive: str, log: Path) -> None:
    """Start the JVM as pyspark does, but with its output in the log: nothing else keeps it quiet.

    `archive` are the options of the class archive, which a JVM that records another one can't have.
    """
    from pyspark import SparkConf

    option = "spark.driver.extraJavaOptions"
    logging = f'-Dlog4j2.configurationFile={LOG4J.as_uri()} -D{LOG_PROPERTY}="{log}"'
    theirs = settings.get(option, "")
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    ours = f"{logging} -Duser.timezone=UTC {REGIONS} {UNHURRIED} {'' if RECORD in theirs else archive}"
    configuration.set(option, f"{ours} {theirs}".strip())
    try:
        with log.open("ab") as output:
            launch_jvm(configuration, output)
    except Exception as error:
        raise _failure(error, log) from error


def _new_log(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for old in sorted(directory.glob("spark-*.log"))[: -KEPT_LOGS + 1]:
        for part in directory.glob(f"{old.name}*"):
            part.unlink(missing_ok=True)
    return directory.absolute() / f"spark-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"


def _quieten() -> None:
    """Have pyspark not print what it also raises: a page of JSON with Java's stack for a misspelt column."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


@contextmanager
def _environment(master: str, java: Java, home: Path, jars: Sequence[Path]) -> Iterator[None]:
    """Set what Spark's launcher and pyspark read from the environment, while they start."""
    last = [*map(str, jars), *filter(None, [os.environ.get(CLASS_PATH)])]
    wanted = {"JAVA_HOME": str(java.launcher_home()), "SPARK_HOME": str(home)}
    wanted |= {CLASS_PATH: os.pathsep.join(last)} if last else {}
    if cores(master) is not None or is_on_this_machine(master):  # other clusters have their own Python
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
    """Return the one in pyspark; a `SPARK_HOME` left over from another Spark would start that one."""
    ours = find_spark_home()
    named = os.environ.get("SPARK_HOME")
    same = bool(named) and any(Path(str(named)).glob(f"jars/spark-core_2.13-{spark_version(ours)}.jar"))
    return Path(str(named)) if same else ours


def _failure(error: Exception, log: Path | None) -> SetupError:
    return SetupError(
        f"Spark didn't start: {_reason(error, log)}",
        where="spark",
        hint=f"its log has more: {log}" if log else "stop the other Spark of this process first",
    )


def _reason(error: Exception, log: Path | None) -> str:
    """Return the reason of a failed start: the JVM's error, or the output of its launcher."""
    if isinstance(error, JavaError):
        return java_message(error)
    lines = log.read_text(errors="replace").splitlines() if log else []
    messages = [line.strip() for line in lines if line.strip() and not re.search("WARN|Picked up J", line)]
    thrown = [line for line in messages if "Exception" in line]
    return next(iter([*thrown, *messages, str(error)]))
