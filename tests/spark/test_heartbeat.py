"""Heartbeats: event time set from the driver moves the watermark, survives a restart and costs nothing when still."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "org.apache.spark.sql.headrace.time.HeartbeatProvider"
MEMORY = "org.apache.spark.sql.execution.streaming.runtime.MemoryStream"


class Counting:
    """Tumbling windows of 10 s over a memory stream unioned with a heartbeat."""

    def __init__(self, spark: SparkSession, checkpoint: Path) -> None:
        from pyspark.sql import DataFrame

        self.spark, self.checkpoint = spark, checkpoint
        self.name = uuid.uuid4().hex
        self.closed: list[tuple[int, int]] = []
        self.query: StreamingQuery | None = None
        jvm: Any = spark._jvm
        self.heartbeat = jvm.org.apache.spark.sql.headrace.time.Heartbeat
        encoder = jvm.org.apache.spark.sql.Encoders.row(
            spark.createDataFrame([], "value bigint")._jdf.schema()
        )
        self._stream = getattr(jvm, MEMORY).apply(encoder, spark._jsparkSession)
        rows = DataFrame(self._stream.toDF(), spark).selectExpr("timestamp_seconds(value) ts", "true as real")
        beats = spark.readStream.format(FORMAT).option("name", self.name).load()
        self.input = rows.unionByName(beats.selectExpr("heartbeat ts", "false as real"))

    def add(self, *seconds: int) -> None:
        rows = self.spark.createDataFrame(
            [(second,) for second in seconds], "value bigint"
        )._jdf.collectAsList()
        jvm: Any = self.spark._jvm
        self._stream.addData(jvm.org.apache.spark.api.python.PythonUtils.toSeq(rows))

    def start(self, **trigger: Any) -> StreamingQuery:
        windows = self.input.withWatermark("ts", "0 seconds").where(
            "real or ts is null"
        )  # on ts, else Spark would filter below it
        writer = (
            self._counts(windows)
            .writeStream.outputMode("append")
            .option("checkpointLocation", str(self.checkpoint))
        )
        writer = writer.foreachBatch(self._collect)
        self.query = (writer.trigger(**trigger) if trigger else writer).start()
        return self.query

    def beat(self, seconds: int) -> None:
        self.heartbeat.raiseTo(self.name, seconds * 1000)

    @staticmethod
    def _counts(rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as f

        return rows.groupBy(f.window("ts", "10 seconds")).count()

    def _collect(self, frame: DataFrame, _: int) -> None:
        actual = frame.selectExpr("unix_seconds(window.start)", "count").collect()
        self.closed += [(row[0], row[1]) for row in actual]


@pytest.fixture
def counting(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], Counting]]:
    made: list[Counting] = []

    def make() -> Counting:
        made.append(Counting(spark, tmp_path / "checkpoint"))
        return made[-1]

    yield make
    for each in made:
        each.heartbeat.forget(each.name)
        if each.query is not None:
            each.query.stop()


def _plan(query: StreamingQuery) -> str:
    return str(query._jsq.streamingQuery().lastExecution().executedPlan().toString())


def test_a_heartbeat_closes_windows_without_a_row(counting: Callable[[], Counting]) -> None:
    test = counting()
    query = test.start()
    test.add(1, 2, 3)
    query.processAllAvailable()
    assert test.closed == []
    test.beat(10)
    query.processAllAvailable()
    assert test.closed == [(0, 3)]


def test_a_heartbeat_that_stands_still_is_not_in_the_plan(counting: Callable[[], Counting]) -> None:
    test = counting()
    query = test.start()
    test.add(1)
    query.processAllAvailable()
    assert "Union" not in _plan(query)
    test.beat(5)
    query.processAllAvailable()
    test.add(6)
    query.processAllAvailable()
    assert "Union" not in _plan(query)
    assert "HeartbeatTable" not in _plan(query)


def test_a_heartbeat_and_rows_in_one_batch(counting: Callable[[], Counting]) -> None:
    test = counting()
    test.add(1)
    test.beat(20)
    test.start().processAllAvailable()
    assert test.closed == [(0, 1)]


def test_a_restart_goes_on_from_the_checkpoint(counting: Callable[[], Counting]) -> None:
    test = counting()
    query = test.start()
    test.add(1, 25)
    test.beat(30)
    query.processAllAvailable()
    assert sorted(test.closed) == [(0, 1), (20, 1)]  # in one batch or in two
    query.stop()
    test.heartbeat.forget(test.name)  # as in a new process
    query = test.start()
    test.add(45)
    query.processAllAvailable()
    test.beat(40)  # below the rows that have been
    query.processAllAvailable()
    assert sorted(test.closed) == [(0, 1), (20, 1)]
    test.beat(50)
    query.processAllAvailable()
    assert sorted(test.closed) == [(0, 1), (20, 1), (40, 1)]


def test_available_now_takes_the_heartbeat_and_ends(counting: Callable[[], Counting]) -> None:
    test = counting()
    test.add(1)
    query = test.start(availableNow=True)
    assert query.awaitTermination(300)
    assert test.closed == []
    test.beat(253402300799)  # the year 9999
    query = test.start(availableNow=True)
    assert query.awaitTermination(300)
    assert test.closed == [(0, 1)]
    query = test.start(availableNow=True)  # nothing new: no batch at all
    assert query.awaitTermination(300)
    assert test.closed == [(0, 1)]


def test_a_heartbeat_needs_a_name(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="a heartbeat needs the option `name`"):
        spark.readStream.format(FORMAT).load()
