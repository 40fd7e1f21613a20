"""The rules of Spark's micro-batch loop that delivery relies on, and that `tests/simulation/spark.py` models."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from headrace.connectors.driver_source import Offset
from headrace.connectors.driver_source.source import DriverReader

ROWS = 6


class Query:
    """A streaming query over the numbers from 0, which records what Spark calls and what is in its logs."""

    def __init__(self, spark: SparkSession, work: Path) -> None:
        self._spark, self._reader = spark, DriverReader()
        self.checkpoint = work / "queries" / "numbers" / "spark"
        self.calls: list[tuple[str, int, int]] = []
        """The calls of the source with their offsets, and those of `foreachBatch` with epoch and first row."""
        self.logs: list[tuple[list[int], list[int]]] = []
        """The offset log and the commit log at each call."""
        self.per_epoch = 2

    def run(self, deliver: Callable[[int, list[int]], None] = lambda epoch, rows: None) -> None:
        """Run until the input is delivered, or `deliver` raises an error."""
        self.calls.clear()
        self.logs.clear()

        def for_each_batch(batch: DataFrame, epoch: int) -> None:
            rows = sorted(int(row["split"]) for row in batch.collect())
            self._record("deliver", epoch, rows[0])
            deliver(epoch, rows)

        writer = self._reader.splits(self._spark, "numbers", self).writeStream.foreachBatch(for_each_batch)
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        query = writer.start()
        try:
            query.awaitTermination()
        finally:
            self._reader.close()

    def log(self, name: str) -> list[int]:
        """Return the epochs in a log."""
        return sorted(int(file.name) for file in (self.checkpoint / name).glob("[0-9]*"))

    def initial(self) -> Offset:
        return {"position": 0}

    def available(self) -> None: ...

    def latest(self, start: Offset) -> Offset:
        end = min(ROWS, start["position"] + self.per_epoch)
        self._record("latest", start["position"], end)
        return {"position": end}

    def splits(self, start: Offset, end: Offset) -> list[bytes]:
        self._record("read", start["position"], end["position"])
        return [str(number).encode() for number in range(start["position"], end["position"])]

    def commit(self, end: Offset) -> None:
        self._record("commit", end["position"], 0)

    def close(self) -> None: ...

    def _record(self, *call: Any) -> None:
        self.calls.append(call)
        self.logs.append((self.log("offsets"), self.log("commits")))

    def named(self, name: str) -> Iterator[tuple[tuple[str, int, int], list[int], list[int]]]:
        """Yield the calls of one kind, with the logs at that moment."""
        for call, (offsets, commits) in zip(self.calls, self.logs, strict=True):
            if call[0] == name:
                yield call, offsets, commits


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path)


def fail_at(epoch: int) -> Callable[[int, list[int]], None]:
    def deliver(number: int, rows: list[int]) -> None:
        if number == epoch:
            raise ValueError("this epoch fails")

    return deliver


def test_offsets_are_logged_before_an_epoch_is_delivered_and_its_commit_after(query: Query) -> None:
    query.run()
    delivered = [(call[1], offsets[-1], commits) for call, offsets, commits in query.named("deliver")]
    assert delivered == [(0, 0, []), (1, 1, [0]), (2, 2, [0, 1])]
    assert (query.log("offsets"), query.log("commits")) == ([0, 1, 2], [0, 1, 2])


def test_an_epoch_that_failed_is_delivered_again_with_the_same_rows_before_a_new_one_is_planned(
    query: Query,
) -> None:
    with pytest.raises(StreamingQueryException, match="this epoch fails"):
        query.run(fail_at(1))
    assert (query.log("offsets"), query.log("commits")) == ([0, 1], [0])
    query.per_epoch = 3  # a source would plan other epochs now
    delivered: list[tuple[int, list[int]]] = []
    query.run(lambda epoch, rows: delivered.append((epoch, rows)))
    assert delivered == [(1, [2, 3]), (2, [4, 5])]
    assert [call[0] for call in query.calls].index("deliver") < [call[0] for call in query.calls].index(
        "latest"
    )


def test_an_epoch_with_a_commit_is_not_delivered_again(query: Query) -> None:
    query.run()
    query.run()
    assert [*query.named("deliver")] == []


def test_a_log_file_of_another_run_is_not_replaced(query: Query) -> None:
    offsets = query.checkpoint / "offsets"

    def plan_elsewhere(epoch: int, rows: list[int]) -> None:
        shutil.copy(offsets / str(epoch), offsets / str(epoch + 1))

    with pytest.raises(StreamingQueryException, match="CONCURRENT_STREAM_LOG_UPDATE"):
        query.run(plan_elsewhere)
    assert (offsets / "1").read_bytes() == (offsets / "0").read_bytes()


def test_a_source_is_asked_from_the_committed_end_on_and_releases_rows_after_the_next_epoch_is_logged(
    query: Query,
) -> None:
    query.run()
    for call, _, commits in query.named("latest"):
        assert call[1] == 2 * len(commits)
    released = [(call[1], offsets, commits) for call, offsets, commits in query.named("commit")]
    assert released
    for end, offsets, commits in released:
        assert end <= 2 * len(commits)
        assert offsets[-1] >= end // 2
