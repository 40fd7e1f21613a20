"""Flink SQL as a mini-cluster in its own process, driven from Python.

    with Flink(parallelism=2, state="heap") as flink:
        flink.sql(kafka_table("events", "k string, v int", servers, topic))
        flink.sql(blackhole_table("out", "k string, v int"))
        consumed = flink.measure("insert into out select k, v from events where v < 10", warm=2_000_000,
        events=10_000_000)
    consumed.rate       # events/s of the 10 million after the first 2 million

The jars are downloaded from Maven Central, pinned in `jars.toml`; only benchmarks use them. The progress of a
job is the current offset of each partition of its Kafka source, polled from Flink's REST API ten times a second.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from benchmarks.engines.consumed import ALL, Consumed, measure_range
from headrace.devtools.ports import free_ports
from headrace.spark.jars import fetch
from headrace.spark.java import find_java

LOCK = Path(__file__).with_name("jars.toml")
VERSION = "2.2.0"
_POLL = 0.1
_SETTLED = 10.0
"""Seconds without a new row after which a sink is complete."""
_SINK_ROWS = re.compile(r"^\d+\..*Writer.*\.numRecordsIn$")
# The packages that Flink's scripts open on Java 17.
_OPENED = ("lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent")
_LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = ERROR
rootLogger.appenderRef.console.ref = console
"""


class Flink:
    """A JVM with Flink that runs SQL jobs one after the other, each in a mini-cluster.

    Objects are reused between operators. State is on the heap, or in RocksDB with incremental checkpoints.

    Args:
        parallelism: tasks of each operator.
        state: `heap` or `rocksdb`.
        memory: size of the JVM's heap, as for `-Xmx`.
        checkpoints: seconds between checkpoints, written to a directory on disk; None for no checkpoints.
        settings: further Flink settings.
    """

    def __init__(
        self,
        *,
        parallelism: int = 2,
        state: Literal["heap", "rocksdb"] = "heap",
        memory: str = "2g",
        checkpoints: float | None = 10,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="headrace-flink-")
        [self._rest] = free_ports(1)
        self._memory = memory
        self._settings = {
            **_settings(parallelism, state, checkpoints, Path(self._place.name), self._rest),
            **(settings or {}),
        }

    def __enter__(self) -> Self:
        self._gateway = _launch(Path(self._place.name), self._memory)
        jvm = self._gateway.jvm
        configuration = jvm.org.apache.flink.configuration.Configuration()
        for name, value in self._settings.items():
            configuration.setString(name, value)
        table = jvm.org.apache.flink.table.api
        builder = table.EnvironmentSettings.newInstance().inStreamingMode()
        self._tables = table.TableEnvironment.create(builder.withConfiguration(configuration).build())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gateway.shutdown()
        self._gateway.java_process.stdin.close()  # the JVM ends with its standard input
        self._gateway.java_process.wait()
        self._place.cleanup()

    def sql(self, statement: str) -> None:
        """Run a statement that ends at once, such as `create table`."""
        _execute(self._tables, statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query over bounded tables, for checks; values are text or None.

        A running aggregate returns its whole changelog. Each row costs calls to the JVM.
        """
        result = _execute(self._tables, query).collect()
        rows_read = []
        while result.hasNext():
            row = result.next()
            fields = [row.getField(place) for place in range(row.getArity())]
            rows_read.append(tuple(None if field is None else str(field) for field in fields))
        return rows_read

    def changes(self, query: str) -> list[tuple[str, list[str | None]]]:
        """Return the changelog of a query over bounded tables: the kind of each change, and its values as text.

        Values must not contain `, `.
        """
        result, changed = _execute(self._tables, query).collect(), []
        while result.hasNext():
            kind, _, values = str(result.next().toString()).partition("[")
            changed.append((kind, [None if value == "null" else value for value in values[:-1].split(", ")]))
        return changed

    def discard(self, query: str) -> None:
        """Run a query over bounded tables to its end; its rows go nowhere."""
        nowhere = self._gateway.jvm.org.apache.flink.table.api.TableDescriptor.forConnector("blackhole")
        result = self._tables.sqlQuery(query).insertInto(nowhere.build()).execute()
        result.getJobClient().get().getJobExecutionResult().get()

    @property
    def process(self) -> int:
        """The process id of Flink's JVM."""
        return int(self._gateway.jvm.java.lang.ProcessHandle.current().pid())

    def explain(self, query: str) -> str:
        """Return Flink's plan of a statement."""
        details = self._gateway.new_array(self._gateway.jvm.org.apache.flink.table.api.ExplainDetail, 0)
        return str(self._tables.explainSql(query, details))

    def measure(self, insert: str, *, warm: int, events: int, timeout: float = 1800) -> Consumed:
        """Run an `insert` until it has read `warm + events` events from Kafka, and time the last `events`.

        A job over bounded tables runs to its end, which then ends the measured range. Other jobs are
        cancelled as soon as they have read enough; the topic may hold more.
        """
        job = self.start(insert)
        samples: list[tuple[float, int]] = []
        try:
            for seconds, count in self._progress(job, timeout):
                samples.append((seconds, count))
                if count >= warm + events:
                    break
        finally:
            self.stop(job)
        return measure_range(samples, warm, events)

    def measure_results(
        self, insert: str, *, warm: int, events: int, total: int, timeout: float = 1800
    ) -> tuple[Consumed, int]:
        """As `measure`, and count the rows that reached the sink after all `total` events were read.

        The topics must end with events that move the watermark past all others.
        """
        job = self.start(insert)
        samples: list[tuple[float, int]] = []
        try:
            for seconds, count in self._progress(job, timeout):
                samples.append((seconds, count))
                if count >= total:
                    break
            written = final_count(lambda: self.count_written(job))
        finally:
            self.stop(job)
        return measure_range(samples, warm, events), written

    def count_written(self, job: Any) -> int:
        """Return the number of rows that a job's sink had received at the last refresh of Flink's metrics."""
        return sum(self._metrics(str(job.getJobID()), _SINK_ROWS).values())

    def run(self, insert: str, timeout: float = 1800) -> float:
        """Run an `insert` from bounded tables to its end and return the seconds."""
        started = time.monotonic()
        job = self.start(insert)
        for _ in self._progress(job, timeout):
            pass
        return time.monotonic() - started

    def start(self, insert: str) -> Any:
        """Start an `insert` in the background; `stop` ends it."""
        return _execute(self._tables, insert).getJobClient().get()

    def stop(self, job: Any) -> None:
        """Cancel a job, unless it has ended, and wait for its end."""
        with suppress(Exception):
            job.cancel().get()
        while self._state(job) not in ("CANCELED", "FINISHED", "FAILED", None):
            time.sleep(_POLL)

    def count_consumed(self, job: Any) -> int:
        """Return the number of events that a job's Kafka sources have read so far."""
        return sum(self._offsets(str(job.getJobID())).values())

    def _state(self, job: Any) -> str | None:
        """Return the status of a job, or None if its cluster has ended, as it does soon after the job."""
        try:
            return str(job.getJobStatus().get().name())
        except Exception:
            return None

    def _progress(self, job: Any, timeout: float) -> Iterator[tuple[float, int]]:
        """Yield samples (seconds, events consumed) until the job ends."""
        deadline = time.monotonic() + timeout
        finished = job.getJobExecutionResult()
        highest = 0
        while not finished.isDone():
            if time.monotonic() > deadline:
                raise TimeoutError(f"Flink read {highest} events in {timeout:.0f} s")
            with suppress(urllib.error.URLError, OSError):
                highest = max(highest, self.count_consumed(job))
                yield time.monotonic(), highest
            time.sleep(_POLL)
        finished.get()  # raises the error of a failed job
        yield time.monotonic(), ALL

    def _offsets(self, job: str) -> dict[str, int]:
        """Return the number of records read per partition, by metric name."""
        offsets = self._metrics(job, re.compile(r"\.currentOffset$"))
        return {name: offset + 1 for name, offset in offsets.items()}

    def _metrics(self, job: str, name: re.Pattern[str]) -> dict[str, int]:
        """Return the metrics of a job with such names."""
        values: dict[str, int] = {}
        for vertex in _get(self._rest, f"/jobs/{job}")["vertices"]:
            place = f"/jobs/{job}/vertices/{vertex['id']}/metrics"
            names = [metric["id"] for metric in _get(self._rest, place) if name.search(metric["id"])]
            if names:
                query = urllib.parse.urlencode({"get": ",".join(names)})
                for metric in _get(self._rest, f"{place}?{query}"):
                    values[metric["id"]] = int(metric["value"])
        return values


def final_count(read: Callable[[], int]) -> int:
    """Return a metric of Flink's once it has not changed for a while.

    Flink answers with the metrics of its last refresh and only then starts the next one (`update` of its class
    MetricFetcherImpl). Two requests far apart therefore return the same old count while rows are still on their
    way to the sink; frequent requests return current counts.
    """
    count, changed = -1, time.monotonic()
    while time.monotonic() < changed + _SETTLED:
        if (now := read()) != count:
            count, changed = now, time.monotonic()
        time.sleep(_POLL)
    return count


def kafka_table(
    name: str,
    columns: str,
    servers: str,
    topic: str,
    *,
    bounded: bool = False,
    options: Mapping[str, str] | None = None,
) -> str:
    """Return `create table` for a topic of JSON.

    It is read from the earliest offset, unbounded or to the current end, or written.
    """
    chosen = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": servers,
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset" if bounded else "unbounded",
        "format": "json",
        **(options or {}),
    }
    if (
        chosen["connector"] == "upsert-kafka"
    ):  # it always reads from the beginning, and has a format for key and value each
        for name_of_option in ("scan.startup.mode", "scan.bounded.mode", "format"):
            del chosen[name_of_option]
    return f"create temporary table {name} ({columns}) with ({_options(chosen)})"


def blackhole_table(name: str, columns: str) -> str:
    """Return `create table` for a sink that discards every row."""
    return f"create temporary table {name} ({columns}) with ({_options({'connector': 'blackhole'})})"


def _options(chosen: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in chosen.items())


def _settings(
    parallelism: int, state: str, checkpoints: float | None, place: Path, rest: int
) -> dict[str, str]:
    checkpointing: dict[str, str] = {}
    if checkpoints is not None:
        checkpointing = {
            "execution.checkpointing.interval": f"{round(checkpoints * 1000)} ms",
            "execution.checkpointing.dir": (place / "checkpoints").as_uri(),
            "execution.checkpointing.incremental": "true",
        }
    return {
        "execution.target": "local",
        "parallelism.default": str(parallelism),
        "pipeline.object-reuse": "true",
        "state.backend.type": "hashmap" if state == "heap" else "rocksdb",
        "taskmanager.memory.managed.size": "64m" if state == "heap" else "512m",
        "taskmanager.memory.network.min": "128m",
        "taskmanager.memory.network.max": "128m",
        "table.local-time-zone": "UTC",
        "rest.bind-port": str(rest),
        "rest.address": "127.0.0.1",
        "metrics.fetcher.update-interval": "50",
        "io.tmp.dirs": str(place),
        **checkpointing,
    }


def _launch(place: Path, memory: str) -> Any:
    """Launch a JVM with Flink's jars and a py4j gateway, as PySpark does for Spark."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    (place / "log4j2.properties").write_text(_LOG4J)
    bridge = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
    options = [
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-Duser.timezone=UTC",
        f"-Dlog4j2.configurationFile={(place / 'log4j2.properties').as_uri()}",
        *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED),
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    ]
    port, process = launch_gateway(
        jarpath=str(bridge),
        classpath=os.pathsep.join(map(str, fetch("flink", lock=LOCK))),
        javaopts=options,
        java_path=str(find_java().executable),
        die_on_exit=True,
        return_proc=True,
        redirect_stderr=None,
    )
    parameters = GatewayParameters(port=port, auto_convert=True)
    return JavaGateway(gateway_parameters=parameters, java_process=process)


def _execute(tables: Any, statement: str) -> Any:
    """Run a statement; format Flink's error while its JVM is still running."""
    from py4j.protocol import Py4JJavaError

    try:
        return tables.executeSql(statement)
    except Py4JJavaError as error:
        raise ValueError(f"Flink refused `{statement}`: {error}") from error


def _get(port: int, place: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{place}", timeout=10) as answer:
        return json.load(answer)
