"""Flink SQL beside Headrace: a mini-cluster in a process of its own, driven from Python.

    with Flink(parallelism=2, state="heap") as flink:
        flink.sql(kafka_table("events", "k string, v int", servers, topic))
        flink.sql(nowhere_table("out", "k string, v int"))
        taken = flink.measure("insert into out select k, v from events where v < 10", warm=2_000_000,
        events=10_000_000)
    taken.rate          # events/s of the 10 million after the first 2 million, of one run

The jars come from Maven Central, pinned in `jars.toml` beside this module; only benchmarks fetch them. How
far a job is, is what its Kafka source says (the current offset of each partition), asked over Flink's REST
interface ten times a second.
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

from benchmarks.engines.taken import ALL, Taken, measured
from headrace.devtools.ports import free_ports
from headrace.spark.jars import fetch
from headrace.spark.java import find_java

LOCK = Path(__file__).with_name("jars.toml")
VERSION = "2.2.0"
_POLL = 0.1
_SETTLED = 10.0
"""Seconds without a new row after which a sink is taken to have them all."""
_SINK_ROWS = re.compile(r"^\d+\..*Writer.*\.numRecordsIn$")
# What Flink's own scripts open for it on Java 17.
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
    """A Flink of the benchmarks' own: a JVM that runs one SQL job after the other, each in a mini-cluster.

    Objects are reused between operators. State is on the heap, or in RocksDB with incremental checkpoints.

    Args:
        parallelism: tasks of each operator.
        state: `heap` or `rocksdb`.
        memory: of the JVM's heap, as `-Xmx` takes it.
        checkpoints: seconds between checkpoints, written to a directory on disk; None for no checkpoints.
        settings: more of Flink's settings, by their names.
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
        self._gateway.java_process.stdin.close()  # it ends with its standard input
        self._gateway.java_process.wait()
        self._place.cleanup()

    def sql(self, statement: str) -> None:
        """Run a statement that ends at once, such as `create table`."""
        _executed(self._tables, statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a query over bounded tables, for checks: everything as text but null.

        Of a running aggregate these are all its changes, each with a call to the JVM: not for many rows.
        """
        result = _executed(self._tables, query).collect()
        rows_read = []
        while result.hasNext():
            row = result.next()
            fields = [row.getField(place) for place in range(row.getArity())]
            rows_read.append(tuple(None if field is None else str(field) for field in fields))
        return rows_read

    def explain(self, query: str) -> str:
        """Flink's plan of a statement."""
        details = self._gateway.new_array(self._gateway.jvm.org.apache.flink.table.api.ExplainDetail, 0)
        return str(self._tables.explainSql(query, details))

    def measure(self, insert: str, *, warm: int, events: int, timeout: float = 1800) -> Taken:
        """Run an `insert` until `warm + events` events were taken from Kafka, and time the last `events` of them.

        From bounded tables it runs to its end, which then is the end of the measured range. Otherwise it is
        cancelled as soon as it has taken enough; the topic may hold more.
        """
        job = self.start(insert)
        seen: list[tuple[float, int]] = []
        try:
            for moment, count in self._progress(job, timeout):
                seen.append((moment, count))
                if count >= warm + events:
                    break
        finally:
            self.stop(job)
        return measured(seen, warm, events)

    def measure_results(
        self, insert: str, *, warm: int, events: int, total: int, timeout: float = 1800
    ) -> tuple[Taken, int]:
        """As `measure`, with the rows that reached the sink, counted once all `total` events were taken.

        The topics must end with events that let the watermark pass all others.
        """
        job = self.start(insert)
        seen: list[tuple[float, int]] = []
        try:
            for moment, count in self._progress(job, timeout):
                seen.append((moment, count))
                if count >= total:
                    break
            written = final_count(lambda: self.written(job))
        finally:
            self.stop(job)
        return measured(seen, warm, events), written

    def written(self, job: Any) -> int:
        """Return the number of rows that a job's sink had received at the last refresh of Flink's metrics."""
        return sum(self._metrics(str(job.getJobID()), _SINK_ROWS).values())

    def run(self, insert: str, timeout: float = 1800) -> float:
        """Run an `insert` from bounded tables to its end; returns the seconds it took."""
        begun = time.monotonic()
        job = self.start(insert)
        for _ in self._progress(job, timeout):
            pass
        return time.monotonic() - begun

    def start(self, insert: str) -> Any:
        """Start an `insert` that runs on; `stop` ends it."""
        return _executed(self._tables, insert).getJobClient().get()

    def stop(self, job: Any) -> None:
        """Cancel a job, unless it has ended, and wait for its end."""
        with suppress(Exception):
            job.cancel().get()
        while self._state(job) not in ("CANCELED", "FINISHED", "FAILED", None):
            time.sleep(_POLL)

    def taken(self, job: Any) -> int:
        """How many events a job's Kafka sources have taken so far."""
        return sum(self._offsets(str(job.getJobID())).values())

    def _state(self, job: Any) -> str | None:
        """What a job says of itself; None where its cluster is gone, as it is soon after the job's end."""
        try:
            return str(job.getJobStatus().get().name())
        except Exception:
            return None

    def _progress(self, job: Any, timeout: float) -> Iterator[tuple[float, int]]:
        """(Moment, events taken) until the job's end."""
        deadline = time.monotonic() + timeout
        finished = job.getJobExecutionResult()
        highest = 0
        while not finished.isDone():
            if time.monotonic() > deadline:
                raise TimeoutError(f"Flink took {highest} events in {timeout:.0f} s")
            with suppress(urllib.error.URLError, OSError):
                highest = max(highest, self.taken(job))
                yield time.monotonic(), highest
            time.sleep(_POLL)
        finished.get()  # raises what the job failed with
        yield time.monotonic(), ALL

    def _offsets(self, job: str) -> dict[str, int]:
        """The number of records taken from each partition, by the metric's name."""
        offsets = self._metrics(job, re.compile(r"\.currentOffset$"))
        return {name: offset + 1 for name, offset in offsets.items()}

    def _metrics(self, job: str, name: re.Pattern[str]) -> dict[str, int]:
        """Return the metrics of a job with such names."""
        values: dict[str, int] = {}
        for vertex in _get(self._rest, f"/jobs/{job}")["vertices"]:
            place = f"/jobs/{job}/vertices/{vertex['id']}/metrics"
            names = [metric["id"] for metric in _get(self._rest, place) if name.search(metric["id"])]
            if names:
                asked = urllib.parse.urlencode({"get": ",".join(names)})
                for metric in _get(self._rest, f"{place}?{asked}"):
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
    """`create table` for a topic of JSON: read from its beginning, without end or to where it ends now.

    Or written.
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


def nowhere_table(name: str, columns: str) -> str:
    """`create table` for a sink that computes every row and keeps none."""
    return f"create temporary table {name} ({columns}) with ({_options({'connector': 'blackhole'})})"


def _options(chosen: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in chosen.items())


def _settings(
    parallelism: int, state: str, checkpoints: float | None, place: Path, rest: int
) -> dict[str, str]:
    kept: dict[str, str] = {}
    if checkpoints is not None:
        kept = {
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
        **kept,
    }


def _launch(place: Path, memory: str) -> Any:
    """A JVM with Flink's jars that takes calls from Python, as Spark's does."""
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


def _executed(tables: Any, statement: str) -> Any:
    """Have a statement run; what Flink says against it is told while its JVM still answers."""
    from py4j.protocol import Py4JJavaError

    try:
        return tables.executeSql(statement)
    except Py4JJavaError as error:
        raise ValueError(f"Flink refused `{statement}`: {error}") from error


def _get(port: int, place: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{place}", timeout=10) as answer:
        return json.load(answer)
