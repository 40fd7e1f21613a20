"""Processors on Spark: equal to a run without a JVM, batches, failures, stored state, logs and metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.support import random_processors

from headrace import Pipeline, Processor, connect, state, testing, timers
from headrace.checkpoints.repartition import repartition
from headrace.debugging.state import state_of
from headrace.errors import UserCodeError
from headrace.metrics.tick import TickBuilder

SCHEMA = "card string, amount int"
SEEDS = (1, 4)
"""A sample; `python -m tests.spark.code.test_processors` runs all seeds."""


def run_seeds(spark: SparkSession, seeds: tuple[int, ...]) -> list[str]:
    """Run random processors on Spark and return the differences from their runs without a JVM."""
    cases = [testing.read_case(random_processors.case_of(seed)) for seed in seeds]
    return [outcome.failure for outcome in testing.run_cases(cases, spark=spark) if not outcome.passed]


def test_random_processors_equal_a_run_without_a_jvm(spark: SparkSession) -> None:
    assert run_seeds(spark, SEEDS) == []


class Total(Processor):
    """The total of a card; a negative amount raises after a change of state."""

    output = "card string, total int"
    total: int = state.value(0)

    def process(self, row: Any) -> Iterator[tuple[str, int]]:
        self.total += row.amount
        if row.amount < 0:
            raise ValueError("a refund")
        yield row.card, self.total


def run_rows(
    directory: Path, rows: list[dict[str, Any]], kind: type[Processor], **options: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run a processor over rows; return its rows and its dead letters."""
    pipeline, out, dead = Pipeline("cards"), connect.memory(), connect.memory()
    tx = pipeline.read("tx", connect.memory(rows=rows), schema=SCHEMA)
    step = tx.key_by("card").process("totals", kind, **options)
    step.write("out", out)
    if options.get("on_error") != "fail":
        step.dead_letters.write("dead", dead)
    pipeline.run(until="drained", checkpoint=directory / "checkpoint")
    return out.contents(), dead.contents()


def test_a_key_that_spans_arrow_batches_keeps_its_state_and_undoes_calls(
    spark: SparkSession, tmp_path: Path
) -> None:
    amounts = [-1 if n in (5, 10_500, 23_000) else 1 for n in range(25_000)]
    rows = [{"card": "ab"[n % 2], "amount": amount} for n, amount in enumerate(amounts)]
    made, dead = run_rows(tmp_path, rows, Total)
    harness = testing.processor(Total, key="card")
    assert [(row["card"], row["total"]) for row in made if row["card"] == "a"] == [
        tuple(row) for row in harness.rows(rows) if row.card == "a"
    ]
    assert len(made) == 25_000 - 3
    assert [row["reason"].partition(" (")[0] for row in dead] == ["ValueError: a refund"] * 3
    assert all("test_processors.py:" in row["reason"] for row in dead)
    assert all('raise ValueError("a refund")' in row["traceback"] for row in dead)


class Faulty(Processor):
    """Fails in the way that the row's card names."""

    output = "card string, total int"
    total: int = state.value(0)

    def process(self, row: Any) -> Iterator[Any]:
        self.total += 1
        if row.amount == 1 and row.card == "type":
            yield row.card, "many"
        if row.amount == 1 and row.card == "hang":
            time.sleep(600)
        if row.amount == 1 and row.card == "memory":
            bytearray(1 << 60)
        yield row.card, self.total


def test_wrong_types_hangs_and_missing_memory_are_dead_letters_that_change_no_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    cards = ("type", "hang", "memory")
    rows = [{"card": card, "amount": amount} for card in cards for amount in (0, 1, 2)]
    made, dead = run_rows(tmp_path, rows, Faulty, timeout="2 seconds")
    assert sorted((row["card"], row["total"]) for row in made) == sorted(
        (c, n) for c in cards for n in (1, 2)
    )
    reasons = {row["card"]: row["reason"] for row in dead}
    assert "returned str 'many' for column `total`" in reasons["type"]
    assert reasons["hang"].startswith("TimeoutError: no result after 2 seconds (")
    assert reasons["memory"].startswith("MemoryError (")
    assert all("test_processors.py:" in reasons[card] for card in ("hang", "memory"))
    assert {row["amount"] for row in dead} == {1}


def test_on_error_fail_names_step_row_and_line(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"card": "a", "amount": 1}, {"card": "a", "amount": -5}]
    with pytest.raises(UserCodeError) as caught:
        run_rows(tmp_path, rows, Total, on_error="fail")
    assert caught.value.where.endswith("`totals`")
    assert "Row(card='a', amount=-5): ValueError: a refund" in caught.value.what
    assert "test_processors.py:" in caught.value.what


class First(Processor):
    """The first version of a class that gains a field."""

    output = "card string, total int, largest int"
    total: int = state.value(0)
    due = timers.clock()

    def process(self, row: Any) -> Iterator[tuple[str, int, int]]:
        self.total += row.amount
        self.due.set(after="1000 days")
        yield row.card, self.total, 0

    def on_due(self, at: Any) -> None: ...


class Second(First):
    """The second version; keys that are stored without `largest` have its default."""

    largest: int = state.value(-1)

    def process(self, row: Any) -> Iterator[tuple[str, int, int]]:
        self.total += row.amount
        yield row.card, self.total, self.largest
        self.largest = max(self.largest, row.amount)


def test_state_survives_repartitioning_and_an_added_field_and_is_shown(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed, out = connect.memory(), connect.memory()

    def build(kind: type[Processor]) -> Pipeline:
        pipeline = Pipeline("cards")
        tx = pipeline.read("tx", feed, schema=SCHEMA)
        tx.key_by("card").process("totals", kind).write("out", out)
        return pipeline

    before, after = build(First), build(Second)
    feed.add(*({"card": f"c{n}", "amount": n} for n in range(20)))
    conf = {"spark.sql.shuffle.partitions": "2"}
    before.run(until="caught_up", checkpoint=tmp_path, conf=conf)
    repartition(before._plan(), tmp_path, 3)
    feed.add(*({"card": f"c{n}", "amount": 1} for n in range(20) for _ in range(2)))
    after.run(until="caught_up", checkpoint=tmp_path)
    made = [(row["card"], row["total"], row["largest"]) for row in out.contents()[20:]]
    assert sorted(made) == sorted((f"c{n}", n + k, -1 if k == 1 else 1) for n in range(20) for k in (1, 2))
    [shown] = state_of(after._plan(), tmp_path, key="c7")
    assert (shown.step, shown.stored.keys) == ("totals", 1)
    [entry] = shown.stored.entries
    assert entry["key"] == {"card": "c7"}
    assert (entry["state"]["total"], entry["state"]["largest"]) == (9, 1)
    assert list(entry["state"]["timers"]) == ["due"]


class Unstorable(Processor):
    output = "card string"
    held: Any = state.value(None)

    def process(self, row: Any) -> None:
        self.held = object()


def test_state_that_cannot_be_stored_names_step_and_key(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserCodeError, match=r"Row\(card='a'\): TypeError: state cannot hold a object"):
        run_rows(tmp_path, [{"card": "a", "amount": 1}], Unstorable)


class Printing(Processor):
    output = "card string"

    def process(self, row: Any) -> Iterator[tuple[str]]:
        print("amount", row.amount)
        if row.amount == 2:
            raise ValueError("two")
        yield (row.card,)


def test_prints_have_step_and_key_and_calls_are_metrics(spark: SparkSession, tmp_path: Path) -> None:
    from headrace.spark.launch import log_file

    pipeline = Pipeline("cards")
    rows = [{"card": f"card{n}", "amount": n} for n in range(4)]
    tx = pipeline.read("tx", connect.memory(rows=rows), schema=SCHEMA)
    mapped = tx.map("doubled", lambda row: (row.card, row.amount), output=SCHEMA)
    mapped.key_by("card").process("printed", Printing).write("out", connect.memory())
    with pipeline.start(until="drained", checkpoint=tmp_path / "checkpoint") as handle:
        handle.wait(timeout=300)
        steps = TickBuilder(pipeline._plan()).build(handle.status())["steps"]
    assert (steps["doubled"]["calls"], steps["doubled"]["errors"]) == (4, 0)
    assert (steps["printed"]["calls"], steps["printed"]["errors"]) == (4, 1)
    assert steps["printed"]["seconds"] > 0
    assert "calls" not in steps["tx"]
    log = log_file()
    assert log is not None
    assert "[printed card3] amount 3" in log.read_text()


if __name__ == "__main__":
    from headrace.spark.session import open_session

    for failure in run_seeds(open_session("processors"), tuple(random_processors.SEEDS)):
        print(failure)
