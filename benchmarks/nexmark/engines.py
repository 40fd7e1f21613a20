"""One query on one engine: its final rows over a few events, and the cost of runs over many."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pyspark.errors import PySparkException

from benchmarks.cpu_meter import CpuMeter
from benchmarks.nexmark.queries import as_text, select_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from benchmarks.engines.flink import Flink

TABLES = ("person", "auction", "bid")
SHARES = {"person": 1 / 50, "auction": 3 / 50, "bid": 46 / 50}
COLUMNS = {
    "person": "id bigint, name string, email_address string, credit_card string, city string, state string,"
    " date_time {time}, extra string",
    "auction": "id bigint, item_name string, description string, initial_bid bigint, reserve bigint,"
    " date_time {time}, expires {time}, seller bigint, category bigint, extra string",
    "bid": "auction bigint, bidder bigint, price bigint, channel string, url string, date_time {time},"
    " extra string",
}
_EXTRA = {
    "person": ", now as proctime(), watermark for date_time as date_time - interval '4' second",
    "auction": ", watermark for date_time as date_time - interval '4' second",
    "bid": ", now as proctime(), watermark for date_time as date_time - interval '4' second",
}


@dataclass(frozen=True)
class Setting:
    """The broker, the query, and the limits of an engine."""

    servers: str
    query: str
    batch: int
    memory: str

    def topic(self, table: str, events: int) -> str:
        """Return the topic of a table."""
        return f"nexmark-ordered-{events}-{table}"


@dataclass
class Outcome:
    """The measured runs of a query on an engine."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    jit: list[float] = field(default_factory=list)
    """CPU seconds of the JIT compilers in each run."""
    rows: list[str] = field(default_factory=list)
    """The final rows over the compared events."""
    problem: str = ""
    """Why the engine cannot run the query."""

    def per_core(self, events: int) -> float:
        """Return events per second of CPU time, of the best run: other work on the machine only adds to it."""
        return events / min(self.cpu)

    def rate(self, events: int) -> float:
        """Return events per second by the clock, of the best run."""
        return events / min(self.seconds)

    @property
    def jit_share(self) -> float:
        """The share of compilation in the CPU time."""
        return sum(self.jit) / sum(self.cpu)


class Engine(Protocol):
    """Runs one query."""

    def measure(self, compared: int, events: int, warm: int, runs: int) -> Outcome: ...


@dataclass(frozen=True)
class Headrace:
    """The query as a pipeline from a SQL script."""

    setting: Setting

    def measure(self, compared: int, events: int, warm: int, runs: int) -> Outcome:
        from headrace.spark.jars import fetch
        from headrace.spark.session import open_session

        with (
            tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place,
            open_session(
                "nexmark", master="local[2]", conf=_conf(self.setting), jars=fetch("kafka")
            ) as spark,
        ):
            rows = self._rows(compared, Path(place) / "compared")

            def run(number: int) -> None:
                self._run(events, Path(place) / str(number))

            return _measured(run, rows, warm, runs, _process_of(spark))

    def costs(self, events: int, place: Path, requests: Iterable[str]) -> Iterator[dict[str, float]]:
        """Run the query once for each request; yield the CPU seconds of each run, by part."""
        from headrace.spark.jars import fetch
        from headrace.spark.session import open_session

        conf, jars = _conf(self.setting), fetch("kafka")
        with CpuMeter() as meter, open_session("nexmark", master="local[2]", conf=conf, jars=jars) as spark:
            jvm = _process_of(spark)

            def parts() -> dict[str, float]:
                tasks, jit = _thread_seconds(jvm, "Executor task"), _compilation(jvm)
                return {"all": meter.seconds(), "tasks": tasks, "jit": jit}

            for number, _ in enumerate(requests):
                before = parts()
                self._run(events, place / str(number))
                yield {part: round(seconds - before[part], 2) for part, seconds in parts().items()}

    def _run(self, events: int, checkpoint: Path) -> None:
        from benchmarks.noop_sink import NoopSink
        from headrace import Pipeline

        graph = Pipeline.from_sql_text(self._script(events), name="nexmark")._graph
        [sink] = graph.sinks
        nodes = {**graph.nodes, sink.name: replace(sink, connector=NoopSink())}
        pipeline = Pipeline._from_graph(type(graph)(graph.name, nodes))
        pipeline.run(until="drained", checkpoint=checkpoint, progress=False)
        if late := [file for file in checkpoint.glob("unrouted/**/part-*") if file.stat().st_size]:
            sys.stderr.write(f"{self.setting.query}: late rows or dead letters in {len(late)} files\n")

    def _rows(self, events: int, checkpoint: Path) -> list[str]:
        """Return the final rows: those of the sink, with changes applied."""
        from headrace import Pipeline
        from headrace.connectors.memory import Memory

        pipeline = Pipeline.from_sql_text(self._script(events), name="nexmark")
        pipeline.run(until="drained", checkpoint=checkpoint, progress=False)
        [sink] = pipeline._graph.sinks
        assert isinstance(sink.connector, Memory)
        changes = sink.connector.contents()
        return _final((str(row.pop("change", "insert")), as_text(list(row.values()))) for row in changes)

    def _script(self, events: int) -> str:
        sources = ""
        for table in TABLES:
            columns = COLUMNS[table].format(time="timestamp") + _EXTRA[table]
            options = {
                "connector": "kafka",
                "servers": self.setting.servers,
                "topic": self.setting.topic(table, events),
                "format": "json",
                "max_per_batch": str(int(self.setting.batch * SHARES[table])),
            }
            written = ", ".join(f"{name} = '{value}'" for name, value in options.items())
            sources += f"CREATE SOURCE {table} ({columns}) WITH ({written});\n"
        sink = "CREATE SINK results WITH (connector = 'memory') AS\n"
        return sources + sink + select_of(self.setting.query)


@dataclass(frozen=True)
class FlinkSql:
    """The query in Flink SQL."""

    setting: Setting
    state: Literal["rocksdb", "heap"]

    def measure(self, compared: int, events: int, warm: int, runs: int) -> Outcome:
        from benchmarks.engines.flink import Flink

        query = select_of(self.setting.query)
        with Flink(state=self.state, memory=self.setting.memory) as flink:
            self._create_tables(flink, compared)
            try:
                rows = _final((kind, as_text(values)) for kind, values in flink.changes(query))
            except ValueError as error:
                return Outcome(problem=str(error).splitlines()[0])
            self._create_tables(flink, events)
            return _measured(lambda _: flink.discard(query), rows, warm, runs, flink.process)

    def _create_tables(self, flink: Flink, events: int) -> None:
        from benchmarks.engines.flink import kafka_table

        for table in TABLES:
            columns = COLUMNS[table].format(time="timestamp_ltz(3)") + _EXTRA[table]
            topic = self.setting.topic(table, events)
            options = {"json.timestamp-format.standard": "ISO-8601"}
            flink.sql(f"drop temporary table if exists {table}")
            flink.sql(kafka_table(table, columns, self.setting.servers, topic, bounded=True, options=options))


@dataclass(frozen=True)
class PySpark:
    """The query in Spark SQL over streams, if Spark accepts its text."""

    setting: Setting

    def measure(self, compared: int, events: int, warm: int, runs: int) -> Outcome:
        from headrace.spark.jars import fetch
        from headrace.spark.session import open_session

        conf = {"spark.driver.memory": self.setting.memory, "spark.sql.shuffle.partitions": "2"}
        with (
            tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as place,
            open_session("nexmark", master="local[2]", conf=conf, jars=fetch("kafka")) as spark,
        ):
            rows: list[str] = []

            def collect(frame: DataFrame, _: int) -> None:
                rows.extend(as_text(list(row)) for row in frame.collect())

            def discard(frame: DataFrame, _: int) -> None:
                frame.write.format("noop").mode("overwrite").save()

            try:
                self._run(spark, compared, Path(place) / "compared", collect)
            except PySparkException as error:
                return Outcome(problem=str(error).splitlines()[0])

            def run(number: int) -> None:
                self._run(spark, events, Path(place) / str(number), discard)

            return _measured(run, rows, warm, runs, _process_of(spark))

    def _run(
        self, spark: SparkSession, events: int, checkpoint: Path, take: Callable[[DataFrame, int], None]
    ) -> None:
        from pyspark.sql import functions as F  # noqa: N812

        for table in TABLES:
            reader = spark.readStream.format("kafka").option("subscribe", self.setting.topic(table, events))
            reader = reader.option("kafka.bootstrap.servers", self.setting.servers)
            reader = reader.option("startingOffsets", "earliest")
            reader = reader.option("maxOffsetsPerTrigger", int(self.setting.batch * SHARES[table]))
            columns = COLUMNS[table].format(time="timestamp")
            rows = reader.load().select(F.from_json(F.col("value").cast("string"), columns).alias("row"))
            rows.select("row.*").withWatermark("date_time", "4 seconds").createOrReplaceTempView(table)
        writer = spark.sql(select_of(self.setting.query)).writeStream.foreachBatch(take)
        writer = writer.option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()


ENGINES: dict[str, Callable[[Setting], Engine]] = {
    "headrace": Headrace,
    "flink-rocksdb": lambda setting: FlinkSql(setting, "rocksdb"),
    "flink-heap": lambda setting: FlinkSql(setting, "heap"),
    "pyspark": PySpark,
}


def _process_of(spark: SparkSession) -> int:
    jvm: Any = spark._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


def _measured(run: Callable[[int], None], rows: list[str], warm: int, runs: int, jvm: int) -> Outcome:
    """Run a job often; return the cost of the runs after the first ones."""
    outcome = Outcome(rows=rows)
    with CpuMeter() as meter:
        for number in range(warm + runs):
            cpu, jit, began = meter.seconds(), _compilation(jvm), time.perf_counter()
            run(number)
            if number >= warm:
                outcome.seconds.append(time.perf_counter() - began)
                outcome.cpu.append(meter.seconds() - cpu)
                outcome.jit.append(_compilation(jvm) - jit)
    return outcome


def _conf(setting: Setting) -> dict[str, str]:
    return {"spark.driver.memory": setting.memory, "spark.sql.shuffle.partitions": "2"}


def _compilation(jvm: int) -> float:
    """Return the CPU seconds of the JIT compilers of a JVM; zero without `/proc`."""
    return _thread_seconds(jvm, "CompilerThre")


def _thread_seconds(jvm: int, name: str) -> float:
    """Return the CPU seconds of the threads of a JVM whose names contain a text; zero without `/proc`."""
    ticks = 0
    for file in Path(f"/proc/{jvm}/task").glob("*/stat"):
        with contextlib.suppress(OSError):  # the thread has just ended
            before, _, after = file.read_text().rpartition(")")
            if name in before:
                ticks += sum(map(int, after.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _final(changes: Iterable[tuple[str, str]]) -> list[str]:
    """Return the rows of the table that changes give."""
    table: Counter[str] = Counter()
    for kind, row in changes:
        table[row] += 1 if kind in ("insert", "update_after", "+I", "+U") else -1
    return list(table.elements())
