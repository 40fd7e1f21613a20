"""One place that builds the SparkSession.

Local by default, with RocksDB for state (changelog checkpoints, state checkpoint format 2) and UTC. Any
`spark.*` setting and any master are passed through. Nothing of Spark's own talk reaches the terminal: it goes
to a file, whose path `log_file` gives. The kernel is on the class path of driver and executors, and a
session is refused whose kernel is missing, old or made for another Spark.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.engine.cache import cache_directory
from headrace.engine.java import find_java
from headrace.engine.kernel_jar import ensure_kernel_jar, find_spark_home, read_properties, spark_version
from headrace.errors import OptionError, SetupError

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

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
LOG4J = Path(__file__).with_name("log4j2.properties")
LOG_PROPERTY = "headrace.log"
KEPT_LOGS = 10


def open_session(
    name: str = "headrace",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    jars: Sequence[Path] = (),
    log_directory: Path | None = None,
    say: Callable[[str], None] | None = None,
) -> SparkSession:
    """The SparkSession that Headrace runs in: the active one where it fits, else a new one.

    Args:
        name: What Spark shows as the application's name.
        master: Where to run, as Spark spells it; `local[*]` when nobody says otherwise.
        conf: Any `spark.*` settings; they win over Headrace's own.
        jars: More jars for driver and executors, such as a connector's.
        log_directory: Where Spark's log goes; the cache directory's `logs` by default.
        say: Gets a line when the kernel has to be compiled first; standard error by default.

    A process has one Spark. If it already runs, settings that Spark can still change are applied to it, and
    others that differ are refused.

    Raises:
        SetupError: Java, pyspark or the kernel is missing, the running session doesn't fit, or Spark didn't
            start.
        OptionError: A setting's name doesn't start with `spark.`.

    >>> spark = open_session(master="local[2]")                      # doctest: +SKIP
    >>> spark.conf.get("spark.sql.session.timeZone")                 # doctest: +SKIP
    'UTC'
    """
    asked = _checked(master, conf or {})
    kernel = ensure_kernel_jar(say or _to_stderr)
    session = _active_session()
    if session is None:
        session = _start(_settings(name, asked, (kernel, *jars)), log_directory)
    else:
        _fit(session, asked, jars)
    _verify_kernel(session, kernel)
    return session


def log_file(session: SparkSession) -> Path | None:
    """The file that Spark writes its log to, if this session was opened by Headrace."""
    return _log_of_jvm() if session.sparkContext._jvm is not None else None


def cores(master: str) -> int | None:
    """How many tasks a local master runs at once; None for a cluster.

    >>> cores("local[3]"), cores("local"), cores("spark://host:7077")
    (3, 1, None)
    """
    found = re.fullmatch(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?", master)
    if found is None:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


def _checked(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    for key in conf:
        if not key.startswith("spark."):
            raise OptionError(
                f"expected a Spark setting, got {key!r}", where="conf", hint="its name starts with `spark.`"
            )
    settings = {key: str(value) for key, value in conf.items()}
    return settings | ({"spark.master": master} if master else {})


def _settings(name: str, asked: Mapping[str, str], jars: Sequence[Path]) -> dict[str, str]:
    master = asked.get("spark.master") or os.environ.get("MASTER") or "local[*]"
    settings = {"spark.app.name": name, "spark.master": master} | REQUIRED | QUIET
    if (width := cores(master)) is not None:
        settings |= {
            "spark.sql.shuffle.partitions": str(width),
            "spark.default.parallelism": str(width),
            # A laptop's own name may lead to a network it has just left.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    settings["spark.sql.warehouse.dir"] = str(cache_directory() / "warehouse")
    settings |= asked
    paths = [str(jar) for jar in jars]
    settings["spark.jars"] = ",".join([*paths, *filter(None, [asked.get("spark.jars")])])
    class_path = "spark.driver.extraClassPath"
    settings[class_path] = os.pathsep.join([*paths, *filter(None, [asked.get(class_path)])])
    return settings


def _active_session() -> SparkSession | None:
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SetupError(
            f"pyspark can't be imported: {error}", where="spark", hint="pip install headrace"
        ) from error

    # A session outlives its stopped context in pyspark's memory; only a live context counts.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def _start(settings: dict[str, str], log_directory: Path | None) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _environment(settings["spark.master"]):
        if SparkContext._gateway is None:
            _launch(settings, _new_log(log_directory or cache_directory() / "logs"))
        try:
            return SparkSession.builder.config(map=dict(settings)).getOrCreate()
        except Exception as error:
            raise _failure(error, _log_of_jvm()) from error


def _launch(settings: Mapping[str, str], log: Path) -> None:
    """Start the JVM as pyspark does, but with its output in the log: nothing else keeps it quiet."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    option = "spark.driver.extraJavaOptions"
    ours = f'-Dlog4j2.configurationFile={LOG4J.as_uri()} -D{LOG_PROPERTY}="{log}" -Duser.timezone=UTC'
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    configuration.set(option, f"{ours} {settings.get(option, '')}".strip())
    try:
        with log.open("ab") as output:
            gateway = launch_gateway(configuration, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    except Exception as error:
        raise _failure(error, log) from error


def _log_of_jvm() -> Path | None:
    from pyspark import SparkContext

    named: str | None = SparkContext._jvm.java.lang.System.getProperty(LOG_PROPERTY)  # type: ignore[union-attr]
    return Path(named) if named else None


def _new_log(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for old in sorted(directory.glob("spark-*.log"))[: -KEPT_LOGS + 1]:
        for part in directory.glob(f"{old.name}*"):
            part.unlink(missing_ok=True)
    return directory.absolute() / f"spark-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """Set what Spark's launcher and pyspark read from the environment, while they start."""
    wanted = {"JAVA_HOME": str(find_java().launcher_home()), "SPARK_HOME": str(_spark_home())}
    if cores(master) is not None:  # a cluster's workers have their own Python
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


def _spark_home() -> Path:
    """The one in pyspark; a `SPARK_HOME` left over from another Spark would start that one."""
    ours = find_spark_home()
    named = os.environ.get("SPARK_HOME")
    same = bool(named) and any(Path(str(named)).glob(f"jars/spark-core_2.13-{spark_version(ours)}.jar"))
    return Path(str(named)) if same else ours


def _failure(error: Exception, log: Path | None) -> SetupError:
    """What went wrong, from the log where it says so: pyspark's own error often knows no more than that."""
    lines = log.read_text(errors="replace").splitlines() if log else []
    said = [line.strip() for line in lines if "ERROR" in line or "Error" in line]
    fact = said[-1] if said else str(error).strip().splitlines()[0]
    return SetupError(
        f"Spark didn't start: {fact}",
        where="spark",
        hint=f"the whole story is in {log}" if log else "stop the other Spark of this process first",
    )


def _fit(session: SparkSession, asked: Mapping[str, str], jars: Sequence[Path]) -> None:
    """Apply to a running session what it still lacks, or refuse it."""
    fixed = []
    for key, value in (REQUIRED | dict(asked)).items():
        if (current := session.conf.get(key, None)) == value:
            continue
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
        else:
            fixed.append(f"{key} is {current}, asked for {value}")
    there = session.conf.get("spark.jars", "") or ""
    fixed += [f"{jar.name} is not among its jars" for jar in jars if str(jar) not in there.split(",")]
    if fixed:
        raise SetupError(
            f"Spark already runs in this process, and {'; '.join(fixed)}",
            where="session",
            hint="stop it first (spark.stop()), or leave these settings out",
        )


def _verify_kernel(session: SparkSession, jar: Path) -> None:
    from py4j.java_gateway import JavaClass

    kernel = session.sparkContext._jvm.org.apache.spark.sql.headrace.Kernel  # type: ignore[union-attr]
    if not isinstance(kernel, JavaClass):
        raise SetupError(
            "the running Spark has no Headrace kernel",
            where="session",
            hint=f"let Headrace start it, or give it spark.jars and spark.driver.extraClassPath = {jar}",
        )
    if kernel.builtFor() != kernel.runsOn():
        raise SetupError(
            f"the kernel was compiled for Spark {kernel.builtFor()}, this is Spark {kernel.runsOn()}",
            where="session",
            hint=f"pip install pyspark=={kernel.builtFor()}",
        )
    if kernel.digest() != read_properties(jar).get("digest"):
        raise SetupError(
            "the running Spark has another version of the Headrace kernel",
            where="session",
            hint="end this Python process and start again",
        )


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
