"""Access to Spark's JVM. The only module that uses py4j and the private handles of pyspark's objects.

    kernel(spark).windows.WindowStep.apply(java_frame(rows), ...)    a class of the kernel
    jvm(spark).java.util.regex.Pattern.compile("a*")                     any other class

Java objects are `Any`: py4j resolves their methods at run time. A call that throws in Java raises
`JavaError`, or an exception of `pyspark.errors` where pyspark translates it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

from py4j.protocol import Py4JError as GatewayError
from py4j.protocol import Py4JJavaError as JavaError
from py4j.protocol import Py4JNetworkError as ConnectionLostError

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["ConnectionLostError", "GatewayError", "JavaError"]  # raised by every call through the gateway


class _Package:
    """A Java package that caches its members.

    Py4j resolves every part of a dotted name in the JVM on each access, and for a package the JVM searches
    all jars for a class of that name: 15 % of the samples in a profile of the tests.
    """

    def __init__(self, package: Any) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        from py4j.java_gateway import JavaPackage

        member = getattr(self._package, name)
        self.__dict__[name] = _Package(member) if isinstance(member, JavaPackage) else member
        return self.__dict__[name]


_MAX_CAUSES = 50
"""More causes than an exception has; some Java exceptions have a cycle."""


@lru_cache(maxsize=1)
def _root(view: Any) -> _Package:
    return _Package(view)


def jvm(spark: SparkSession) -> Any:
    """Return the root of all Java packages."""
    return _root(spark._jvm)


def session_of_thread() -> SparkSession:
    """Return the active session of this thread, for sinks that open before they receive a DataFrame."""
    from pyspark.sql import SparkSession

    return SparkSession.active()


def kernel(spark: SparkSession) -> Any:
    """Return the root package of the kernel."""
    return jvm(spark).org.apache.spark.sql.headrace


def has_class(candidate: Any) -> bool:
    """Return True if a dotted name such as `kernel(spark).Kernel` is a class that the JVM can load."""
    from py4j.java_gateway import JavaClass

    return isinstance(candidate, JavaClass)


def is_connected(spark: SparkSession) -> bool:
    """Return True until the session's context is stopped."""
    return spark.sparkContext._jsc is not None  # type: ignore[attr-defined, unused-ignore]


def executor_count(spark: SparkSession) -> int:
    """Return the number of executors that have registered, without the driver."""
    context = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined, unused-ignore]
    return len(context.statusTracker().getExecutorInfos()) - 1


def executors_of(spark: SparkSession) -> list[dict[str, Any]]:
    """Return the active executors with their cores and tasks; in local mode the driver is the only one."""
    context = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined, unused-ignore]
    executors = context.statusStore().executorList(True)
    return [
        {
            "id": executor.id(),
            "host": executor.hostPort(),
            "cores": executor.totalCores(),
            "active_tasks": executor.activeTasks(),
            "completed_tasks": executor.completedTasks(),
            "failed_tasks": executor.failedTasks(),
        }
        for executor in map(executors.apply, range(executors.size()))
    ]


def is_launched() -> bool:
    """Return True if this process has a JVM."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def launch_jvm(configuration: SparkConf, output: IO[bytes], inherited: Sequence[int] = ()) -> None:
    """Start the JVM of this process as pyspark does; write its standard output and error to `output`.

    The JVM inherits the file descriptors `inherited`.
    """
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    options = {"stdout": output, "stderr": output, "pass_fds": tuple(inherited)}
    with _kill_on_interrupt():
        gateway = launch_gateway(configuration, options)  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)


def is_jvm_alive() -> bool:
    """Return False if this process started a JVM and it has ended."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return process is None or process.poll() is None


def end_jvm() -> None:
    """Stop Spark and wait until its JVM has exited."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM exits at the end of its standard input
    gateway.proc.wait()


@contextmanager
def _kill_on_interrupt() -> Iterator[None]:
    """Kill the JVM if its launch is interrupted; pyspark would leave the process running."""
    from pyspark import java_gateway

    module: Any = java_gateway
    started: list[subprocess.Popen[bytes]] = []

    def popen(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(*arguments, **options))
        return started[-1]

    original, module.Popen = module.Popen, popen
    try:
        yield
    except BaseException:
        for process in started:
            process.kill()
        raise
    finally:
        module.Popen = original


def system_property(name: str) -> str | None:
    """Return a system property of the JVM; None if it is not set or the JVM has not started."""
    from pyspark import SparkContext

    if SparkContext._jvm is None:
        return None
    value: str | None = SparkContext._jvm.java.lang.System.getProperty(name)
    return value


def start_callbacks(spark: SparkSession) -> None:
    """Start py4j's callback server; required before a Python object is passed to Java."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]


@contextmanager
def silent_callbacks() -> Iterator[None]:
    """Suppress py4j's log of exceptions that a callback raises."""
    logger = logging.getLogger("py4j.clientserver")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def java_session(spark: SparkSession) -> Any:
    """Return the session's Java object."""
    return spark._jsparkSession


def java_frame(frame: DataFrame) -> Any:
    """Return the frame's Java object; `DataFrame(java_object, spark)` converts back."""
    return frame._jdf


def java_column(column: Column) -> Any:
    """Return the column's Java object; `Column(java_object)` converts back."""
    return column._jc


def java_map(spark: SparkSession, entries: Mapping[str, Any]) -> Any:
    """Copy a mapping into a `java.util.HashMap`."""
    result = jvm(spark).java.util.HashMap()
    for name, value in entries.items():
        result[name] = value
    return result


def java_list(spark: SparkSession, items: Iterable[Any]) -> Any:
    """Copy items into a `java.util.ArrayList`."""
    result = jvm(spark).java.util.ArrayList()
    for item in items:
        result.append(item)
    return result


def java_duration(spark: SparkSession, milliseconds: int) -> Any:
    """Return a `java.time.Duration`."""
    return jvm(spark).java.time.Duration.ofMillis(milliseconds)


def java_causes(error: BaseException) -> list[tuple[str, str]]:
    """Return class and message of the Java exceptions behind an error, the deepest cause last.

    Exceptions that pyspark has translated are included; other errors have none.
    """
    from py4j.java_gateway import JavaObject

    origin = getattr(error, "_origin", None) or error  # pyspark stores the exception, or py4j's error of it
    thrown = origin if isinstance(origin, JavaObject) else getattr(origin, "java_exception", None)
    causes: list[tuple[str, str]] = []
    while thrown is not None and len(causes) < _MAX_CAUSES:
        causes.append((thrown.getClass().getName(), str(thrown.getMessage() or "")))
        thrown = thrown.getCause()
    return causes


def java_message(error: Exception) -> str:
    """Return the message of the Java exception that caused an error, otherwise the text of the error."""
    thrown = getattr(error, "java_exception", None)
    return str(error if thrown is None else thrown.getMessage())


def attach(port: int, secret: str, run: str) -> SparkSession:
    """Return a new session of a Spark that runs in a JVM of another process.

    Python workers of earlier runs are not used again, because they hold the modules of those runs.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    named = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    python = {} if "PYSPARK_PYTHON" in os.environ else {"PYSPARK_PYTHON": sys.executable}
    os.environ.update(named | python)  # pyspark then connects to this gateway and launches no JVM
    try:
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
        java: Any = SparkContext._jvm
        context = java.org.apache.spark.SparkContext.getOrCreate()
        java_context = java.org.apache.spark.api.java.JavaSparkContext(context)
        settings: Any = SparkConf(_jconf=java_context.getConf())
        python_context = SparkContext(gateway=gateway, jsc=java_context, conf=settings)
    finally:
        for name in named | python:
            del os.environ[name]
    python_context.environment["HEADRACE_RUN"] = run
    first = java.org.apache.spark.sql.classic.SparkSession.builder().sparkContext(context).getOrCreate()
    session: Any = SparkSession
    attached: SparkSession = session(python_context, first.newSession())
    return attached


def connection() -> tuple[int, str]:
    """Return port and secret of the gateway of this process, for `attach`."""
    from pyspark import SparkContext

    parameters: Any = SparkContext._gateway.java_parameters  # type: ignore[union-attr]
    return int(parameters.port), str(parameters.auth_token)


def is_idle(spark: SparkSession) -> bool:
    """True if Spark runs, and no session of it has a streaming query or a job."""
    java = java_session(spark)
    context = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined, unused-ignore]
    if context.isStopped() or not java.sharedState().activeStreamingQueries().isEmpty():
        return False
    return bool(len(context.statusTracker().getActiveJobIds()) == 0)


def used_heap(spark: SparkSession) -> float:
    """Return the share of the heap that is used after a collection."""
    java = jvm(spark).java.lang
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / float(runtime.maxMemory())


def kill_jvm() -> None:
    """Kill the JVM that this process started, and wait until it has ended."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait()
