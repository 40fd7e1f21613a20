"""An exchange has files only for epochs with rows or with a watermark that has advanced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.connectors.files.sink import FilesWriter
from headrace.runtime.exchanges.cleanup import ExchangeCleaner
from headrace.runtime.exchanges.exchange import MARKER


def row(second: int) -> dict[str, Any]:
    return {"k": "a", "ts": f"2026-03-02T09:{second // 60:02}:{second % 60:02}Z"}


class Chain:
    """Windows of 10 seconds, written as files, and windows of a minute over their panes."""

    def __init__(self, place: Path) -> None:
        self.feed, self.minutes, self._place = connect.memory(), connect.memory(), place

    def run(self, *rows: dict[str, Any], until: Any = "caught_up") -> None:
        self.feed.add(*rows)
        pipeline = Pipeline("chained")
        timed = pipeline.read("rows", self.feed, schema="k string, ts timestamp").event_time("ts")
        tens = timed.key_by("k").window(windows.tumbling("10 seconds")).aggregate("tens", n="count(*)")
        tens.write("tens_out", connect.files(path=str(self._place / "out"), format="json"))
        minutes = tens.window(windows.tumbling("1 minute")).aggregate("minutes", n="sum(n)")
        minutes.write("minutes_out", self.minutes)
        pipeline.run(until=until, checkpoint=self._place / "checkpoint")

    def epochs(self, query: str) -> int:
        return len(list((self._place / "checkpoint/queries" / query / "spark/commits").glob("[0-9]*")))

    def files(self) -> set[Path]:
        return set((self._place / "checkpoint/exchange/tens").glob("*.parquet"))


@pytest.fixture
def chain(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chain:
    monkeypatch.setattr(ExchangeCleaner, "clean", lambda cleaner: None)  # the files stay
    return Chain(tmp_path)


def test_epochs_without_rows_and_with_the_same_watermark_start_none_of_the_reader(
    spark: SparkSession, chain: Chain
) -> None:
    chain.run(row(1), row(15))
    # One epoch has the rows, one closes a window; only the second one has a pane and a watermark.
    assert chain.epochs("tens") == 2
    assert chain.epochs("minutes") == 2  # the pane, then the watermark
    first = chain.files()
    assert {file.name.split("-")[2] for file in first} == {"00000001"}
    assert spark.read.parquet(*map(str, first)).where(MARKER).count() == 1

    chain.run(row(14))  # the watermark stands still
    assert chain.epochs("tens") == 3
    again = chain.files() - first  # the first epoch of a run repeats the marker
    assert spark.read.parquet(*map(str, again)).where(f"not {MARKER}").isEmpty()

    chain.run(row(16), until="drained")
    assert [pane["n"] for pane in chain.minutes.contents()] == [4]


def test_a_sink_is_not_written_in_epochs_of_which_its_exchange_has_counted_no_rows(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged: list[int] = []
    stage: Callable[..., Any] = FilesWriter.stage

    def record(writer: Any, epoch: int, frame: Any) -> Any:
        if writer._root.endswith("/out"):
            staged.append(epoch)
        return stage(writer, epoch, frame)

    monkeypatch.setattr(FilesWriter, "stage", record)
    chain.run(row(1), row(15))
    assert staged == [1]
