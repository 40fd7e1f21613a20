"""Functions over rows and batches: results, failures as dead letters, time, and user modules in workers."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.compute
import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, Stream, TimedStream, connect, windows
from headrace.errors import UserCodeError

PAYMENTS = [
    {"card": "a", "amount": 10, "ts": "2026-03-02T09:00:00Z"},
    {"card": "b", "amount": 0, "ts": "2026-03-02T09:00:01Z"},
    {"card": "a", "amount": 40, "ts": "2026-03-02T09:01:00Z"},
]
SCHEMA = "card string, amount int, ts timestamp"


@dataclasses.dataclass
class Score:
    card: str
    score: float


def score(row: Any) -> Score:
    return Score(row.card, 100 / row.amount)


def payments(pipeline: Pipeline) -> TimedStream:
    return pipeline.read("tx", connect.memory(rows=PAYMENTS), schema=SCHEMA).event_time("ts")


def collect(directory: Path, *streams: Stream) -> list[list[dict[str, Any]]]:
    """Run a pipeline to its end and return the rows of each stream."""
    sinks = [connect.memory() for _ in streams]
    for number, (stream, sink) in enumerate(zip(streams, sinks, strict=True)):
        stream.write(f"out{number}", sink)
    streams[0]._pipeline.run(until="drained", checkpoint=directory / "checkpoint")
    return [sink.contents() for sink in sinks]


def test_map_returns_the_fields_of_a_dataclass_and_diverts_rows_that_raise(
    spark: SparkSession, tmp_path: Path
) -> None:
    scored = payments(Pipeline("scores")).map("scored", score)
    rows, dead = collect(tmp_path, scored, scored.dead_letters)
    assert sorted((row["card"], row["score"]) for row in rows) == [("a", 2.5), ("a", 10.0)]
    [letter] = dead
    assert (letter["card"], letter["amount"]) == ("b", 0)
    assert letter["reason"].startswith("ZeroDivisionError: division by zero (")
    assert "test_functions.py:" in letter["reason"]
    assert "100 / row.amount" in letter["traceback"]


def test_a_mapped_row_keeps_its_time_and_unrouted_dead_letters_are_stored(
    spark: SparkSession, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"

    def scored(row: Any) -> dict[str, Any]:
        with calls.open("a") as file:
            file.write("x")
        return {"card": row.card, "score": 100 / row.amount}

    stream = payments(Pipeline("windows")).map("scored", scored, output="card string, score double")
    panes = stream.key_by("card").window(windows.tumbling("1 minute")).aggregate("sums", s="sum(score)")
    [rows] = collect(tmp_path, panes)
    assert sorted((row["card"], row["s"]) for row in rows) == [("a", 2.5), ("a", 10.0)]
    stored = tmp_path / "checkpoint" / "unrouted" / "scored.dead_letters"
    assert sum(len(file.read_text().splitlines()) for file in stored.rglob("*.json")) == 1
    assert len(calls.read_text()) == len(PAYMENTS)


def test_flat_map_makes_any_number_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    def coins(row: Any) -> Iterator[dict[str, Any]]:
        for n in range(row.amount // 10):
            yield {"card": row.card, "n": n}
        if row.amount == 0:
            raise ValueError("no coins")

    parts = payments(Pipeline("coins")).flat_map("coins", coins, output="card string, n int")
    rows, dead = collect(tmp_path, parts, parts.dead_letters)
    assert sorted(row["n"] for row in rows) == [0, 0, 1, 2, 3]
    assert [row["reason"].partition(" (")[0] for row in dead] == ["ValueError: no coins"]


def test_filter_keeps_rows_as_they_are_and_wants_a_boolean(spark: SparkSession, tmp_path: Path) -> None:
    def large(row: Any) -> Any:
        return row.amount > 5 if row.amount else "no"

    kept = payments(Pipeline("filters")).filter("large", large)
    rows, dead = collect(tmp_path, kept, kept.dead_letters)
    assert sorted(row["amount"] for row in rows) == [10, 40]
    assert [row["reason"].partition(" (")[0] for row in dead] == ["returned str 'no', expected True or False"]


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_map_batches_takes_the_frame_that_its_hint_names(
    spark: SparkSession, tmp_path: Path, library: str
) -> None:
    def with_arrow(table: pyarrow.Table) -> pyarrow.Table:
        doubled = pyarrow.compute.multiply(table["amount"], 2)
        return pyarrow.table({"card": table["card"], "double": doubled})

    def with_pandas(frame: pandas.DataFrame) -> pandas.DataFrame:
        return frame.assign(double=frame.amount * 2)[["card", "double"]]

    def with_polars(frame: polars.DataFrame) -> polars.DataFrame:
        return frame.select("card", double=polars.col("amount") * 2)

    f = {"pyarrow": with_arrow, "pandas": with_pandas, "polars": with_polars}[library]
    stream = payments(Pipeline("batches")).map_batches("doubled", f, output="card string, double bigint")
    panes = stream.window(windows.tumbling("1 minute")).aggregate("sums", s="sum(double)")
    [rows] = collect(tmp_path, panes)
    assert sorted(row["s"] for row in rows) == [20, 80]


def test_a_batch_that_fails_is_diverted_whole(spark: SparkSession, tmp_path: Path) -> None:
    def wrong(table: pyarrow.Table) -> pyarrow.Table:
        return table.select(["card"])

    stream = payments(Pipeline("batches")).map_batches("doubled", wrong, output="card string, double bigint")
    rows, dead = collect(tmp_path, stream, stream.dead_letters)
    assert rows == []
    assert len(dead) == len(PAYMENTS)
    assert all("returned no column `double`" in row["reason"] for row in dead)


class Model:
    """Loaded once per worker; its constructor has no arguments."""

    def open(self) -> None:
        self.loaded = time.monotonic()
        self.pid = os.getpid()

    def __call__(self, row: Any) -> dict[str, Any]:
        print("scoring", row.card)
        return {"loaded": f"{self.pid} {self.loaded}", "pid": str(os.getpid())}


def test_a_class_is_opened_once_per_worker_and_prints_reach_the_log(
    spark: SparkSession, tmp_path: Path
) -> None:
    from headrace.spark.launch import log_file

    pipeline = Pipeline("models")
    many = [{"card": f"c{n}", "amount": n} for n in range(50)]
    source = pipeline.read("tx", connect.memory(rows=many), schema="card string, amount int")
    [rows] = collect(tmp_path, source.map("scored_by_model", Model, output="loaded string, pid string"))
    assert len(rows) == 50
    by_worker = {
        row["pid"]: {other["loaded"] for other in rows if other["pid"] == row["pid"]} for row in rows
    }
    assert all(len(loaded) == 1 for loaded in by_worker.values())
    log = log_file()
    assert log is not None
    assert "[scored_by_model] scoring c7" in log.read_text()


def test_async_calls_run_concurrently_in_order_and_time_out(spark: SparkSession, tmp_path: Path) -> None:
    running = set[int]()

    async def fetch(row: Any) -> dict[str, Any]:
        running.add(row.amount)
        at_once = len(running)
        await asyncio.sleep(60 if row.amount == 13 else 0.5 if row.amount % 2 else 0.1)
        running.remove(row.amount)
        return {"n": row.amount, "at_once": at_once}

    pipeline = Pipeline("calls")
    many = [{"amount": n} for n in range(40)]
    source = pipeline.read("tx", connect.memory(rows=many), schema="amount int")
    fetched = source.map("fetched", fetch, output="n int, at_once int", concurrency=40, timeout="10 seconds")
    rows, dead = collect(tmp_path, fetched, fetched.dead_letters)
    assert max(row["at_once"] for row in rows) >= 10
    assert [row["n"] for row in rows] == sorted(row["n"] for row in rows)
    assert [(row["amount"], row["reason"].partition(" (")[0]) for row in dead] == [
        (13, "TimeoutError: no result after 10 seconds")
    ]


def test_a_call_that_hangs_is_diverted_after_its_timeout(spark: SparkSession, tmp_path: Path) -> None:
    def hang(row: Any) -> dict[str, Any]:
        if row.amount == 0:
            time.sleep(600)
        return {"n": row.amount}

    stream = payments(Pipeline("hangs")).map("slow", hang, output="n int", timeout="2 seconds")
    rows, dead = collect(tmp_path, stream, stream.dead_letters)
    assert sorted(row["n"] for row in rows) == [10, 40]
    assert ["TimeoutError: no result after 2 seconds" in row["reason"] for row in dead] == [True]


def test_on_error_fail_names_step_row_and_line(spark: SparkSession, tmp_path: Path) -> None:
    stream = payments(Pipeline("stops")).map("scored", score, on_error="fail")
    with pytest.raises(UserCodeError) as caught:
        collect(tmp_path, stream)
    assert caught.value.where.endswith("`scored`")
    assert "Row(card='b', amount=0" in caught.value.what
    assert "ZeroDivisionError: division by zero" in caught.value.what
    assert "test_functions.py:" in caught.value.what


class Unopened:
    def open(self) -> None:
        raise FileNotFoundError("no model")

    def __call__(self, row: Any) -> Any:
        return row


def test_a_class_that_cannot_be_opened_ends_the_run_with_step_and_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = payments(Pipeline("unopened")).map("scored", Unopened, output="n int")
    with pytest.raises(UserCodeError) as caught:
        collect(tmp_path, stream)
    assert caught.value.where.endswith("`scored`")
    assert caught.value.what.startswith("cannot open Unopened: FileNotFoundError: no model (")
    assert "test_functions.py:" in caught.value.what


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"n": "many"}, "for column `n`"),
        ({"m": 1}, "returned the columns `m`"),
        ((1, 2), "returned 2 values, expected 1"),
        (None, "returned None, expected a row"),
    ],
)
def test_a_wrong_result_is_a_dead_letter(
    spark: SparkSession, tmp_path: Path, result: Any, reason: str
) -> None:
    def wrong(row: Any) -> Any:
        return result if row.amount == 0 else {"n": row.amount}

    stream = payments(Pipeline("wrong")).map("made", wrong, output="n int")
    rows, dead = collect(tmp_path, stream, stream.dead_letters)
    assert sorted(row["n"] for row in rows) == [10, 40]
    assert [reason in row["reason"] for row in dead] == [True]
