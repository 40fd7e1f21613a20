"""Virtual time: queries go step by step, by a clock that only the test moves, and rows pass without loss."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.runtime.virtual_time import Clock, Feed, SteppedQuery, collect, quick_session
from headrace.schemas.fields import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERY_TYPE = """b boolean, t tinyint, s smallint, i int, l bigint, f float, d double, n decimal(20,4), x string, y binary,
 day date, at timestamp, local timestamp_ntz, a array<int>, m map<string,double>, r struct<p: int, q: array<struct<z: string>>>"""
A_ROW: dict[str, Any] = {
    "b": True,
    "t": -1,
    "s": 300,
    "i": -70000,
    "l": 9007199254740993,
    "f": 0.1,
    "d": 0.1,
    "n": "1234567890123456.7891",
    "x": 'an "ö" \\',
    "y": "AP8=",
    "day": "1969-12-31",
    "at": "1969-12-31T23:59:59.999999Z",
    "local": "9999-12-31T23:59:59.999999",
    "a": [1, None],
    "m": {"k": 0.5},
    "r": {"p": None, "q": [{"z": "é"}]},
}


class Sums:
    """A running sum that is stepped."""

    def __init__(self, spark: SparkSession, checkpoint: Path) -> None:
        self.spark = quick_session(spark)
        self.checkpoint = str(checkpoint)
        self.clock = Clock(self.spark)
        self.feed = Feed(self.spark, Schema.of("k string, v int"))
        self.epochs: list[tuple[int, list[Any]]] = []
        self.crash = False

    def start(self) -> SteppedQuery:
        frame = (
            self.feed.stream(self.spark)
            .groupBy("k")
            .agg({"v": "sum"})
            .selectExpr("*", "current_timestamp() at")
        )
        return self.clock.start(
            frame, self._deliver, mode="update", name=uuid.uuid4().hex, checkpoint=self.checkpoint
        )

    def _deliver(self, frame: DataFrame, epoch: int) -> None:
        self.epochs.append((epoch, list(collect(frame).rows)))
        if self.crash:
            self.crash = False
            raise RuntimeError("killed by the test")


@pytest.fixture
def sums(spark: SparkSession, tmp_path: Path) -> Iterator[Sums]:
    made = Sums(spark, tmp_path)
    yield made
    made.feed.close()


def test_every_type_passes_unchanged(spark: SparkSession) -> None:
    feed = Feed(spark, Schema.of(EVERY_TYPE))
    feed.add([A_ROW, {}])
    actual = collect(feed.batch(spark))
    feed.close()
    as_read = A_ROW | {
        "f": "0.1",
        "d": "0.1",
        "at": -1,
        "local": 253402300799999999,
        "m": [["k", "0.5"]],
        "r": [None, [["é"]]],
    }
    assert actual.rows == [list(as_read.values()), [None] * len(A_ROW)]
    assert [field["name"] for field in actual.schema["fields"]] == list(A_ROW)


def test_text_that_does_not_fit_the_schema_is_refused(spark: SparkSession) -> None:
    feed = Feed(spark, Schema.of("i int"))
    with pytest.raises(Exception, match="FAILFAST"):
        feed.add([{"i": "many"}])
    feed.close()


def test_a_query_runs_only_when_it_is_stepped(sums: Sums) -> None:
    query = sums.start()
    sums.feed.add([{"k": "a", "v": 1}])
    sums.feed.add([{"k": "a", "v": 2}])
    assert sums.epochs == []
    query.step()
    assert sums.epochs == [(0, [["a", 3, 0]])]
    query.step()
    assert len(sums.epochs) == 1
    query.stop()


def test_the_clock_is_set_by_the_test(sums: Sums) -> None:
    query = sums.start()
    sums.clock.advance(90_000_000)
    sums.feed.add([{"k": "a", "v": 1}])
    query.step()
    assert sums.clock.millis == 90_000
    assert sums.epochs == [(0, [["a", 1, 90_000_000]])]
    query.stop()


def test_an_epoch_that_died_is_run_again_at_the_start(sums: Sums) -> None:
    query = sums.start()
    sums.feed.add([{"k": "a", "v": 1}])
    sums.crash = True
    with pytest.raises(Exception, match="killed by the test"):
        query.step()
    assert not query.isActive
    again = sums.start()
    assert sums.epochs == [(0, [["a", 1, 0]]), (0, [["a", 1, 0]])]
    sums.feed.add([{"k": "a", "v": 2}])
    again.step()
    assert sums.epochs[2] == (1, [["a", 3, 0]])
    again.stop()


def test_two_queries_read_one_feed_at_their_own_pace(sums: Sums, tmp_path: Path) -> None:
    first = sums.start()
    sums.feed.add([{"k": "a", "v": 1}])
    first.step()
    sums.feed.add([{"k": "a", "v": 1}])
    first.step()
    sums.checkpoint = str(tmp_path / "second")
    second = sums.start()
    second.step()
    assert [rows[0][1] for _, rows in sums.epochs] == [1, 2, 2]
    first.stop()
    second.stop()
