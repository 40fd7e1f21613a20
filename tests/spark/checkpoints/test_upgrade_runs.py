"""Versions of a pipeline that run from one checkpoint: compatible, migrating, incompatible, and back again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import Connector, Pipeline, connect, windows
from headrace.checkpoints.comparison import Comparison, compare
from headrace.checkpoints.planned_state import state_of_checkpoint
from headrace.checkpoints.rename import rename_state
from headrace.checkpoints.savepoints import create_savepoint, restore_savepoint
from headrace.errors import PlanError

Rows = list[tuple[str, int]]


class Upgraded:
    """A pipeline that adds up amounts per card, running and per minute, into tables with keys."""

    def __init__(self, place: Path) -> None:
        self.place, self.checkpoint = place, place / "checkpoint"
        (place / "in").mkdir(parents=True)

    def add(self, name: str, *rows: tuple[str, int, int]) -> None:
        lines = (f"{card},{amount},2026-03-02T09:00:{second:02}Z\n" for card, amount, second in rows)
        (self.place / "in" / name).write_text("".join(lines))

    def version(self, *, step: str = "totals", aggregate: str = "sum(amount)", log: bool = False) -> Pipeline:
        pipeline = Pipeline("payments")
        source = connect.files(path=str(self.place / "in"), format="csv")
        rows = pipeline.read("rows", source, schema="card string, amount int, ts timestamp")
        totals = rows.key_by("card").aggregate(step, total=aggregate)
        totals.write("totals_out", self._table("totals"))
        cards = rows.event_time("ts").key_by("card")
        minutes = cards.window(windows.tumbling("1 minute")).aggregate("minutes", total="sum(amount)")
        minutes.select("card", "total").write("minutes_out", self._table("minutes"))
        if log:
            rows.where("amount > 5").write("log", connect.files(path=str(self.place / "log"), format="json"))
        return pipeline

    def compare(self, pipeline: Pipeline) -> Comparison:
        return compare(state_of_checkpoint(self.checkpoint), pipeline._plan())

    def rows(self, table: str) -> Rows:
        with closing(sqlite3.connect(self.place / "out.db")) as database:
            return sorted(database.execute(f"select card, total from {table}"))

    def _table(self, name: str) -> Connector:
        return connect.sqlite(path=str(self.place / "out.db"), table=name, key=["card"])


@pytest.fixture
def upgraded(spark: SparkSession, tmp_path: Path) -> Upgraded:
    """The first version has read one file, and has a savepoint."""
    upgraded = Upgraded(tmp_path)
    upgraded.add("1.csv", ("a", 10, 1), ("b", 1, 2))
    upgraded.version().run(until="caught_up", checkpoint=upgraded.checkpoint)
    create_savepoint("payments", upgraded.checkpoint, "before")
    upgraded.add("2.csv", ("a", 20, 3), ("c", 3, 4))
    return upgraded


def test_compatible_version_continues_with_the_state(upgraded: Upgraded) -> None:
    version = upgraded.version(log=True)
    assert upgraded.compare(version).verdict == "compatible"
    version.run(until="drained", checkpoint=upgraded.checkpoint)
    assert upgraded.rows("totals") == upgraded.rows("minutes") == [("a", 30), ("b", 1), ("c", 3)]
    assert list((upgraded.place / "log").glob("*.json"))


def test_renamed_step_continues_with_the_moved_state(upgraded: Upgraded) -> None:
    version = upgraded.version(step="sums")
    comparison = upgraded.compare(version)
    assert comparison.verdict == "migrates"
    for change in comparison.steps:
        if change.renamed_from:
            rename_state(version._plan(), upgraded.checkpoint, change.renamed_from, change.step)
    version.run(until="drained", checkpoint=upgraded.checkpoint)
    assert upgraded.rows("totals") == upgraded.rows("minutes") == [("a", 30), ("b", 1), ("c", 3)]


def test_incompatible_version_is_rejected_and_writes_nothing(upgraded: Upgraded) -> None:
    version, before = upgraded.version(aggregate="max(amount)"), upgraded.rows("totals")
    assert upgraded.compare(version).verdict == "replay"
    with pytest.raises(PlanError, match=r"aggregates were `sum\(amount\)`, are `max\(amount\)`"):
        version.run(until="caught_up", checkpoint=upgraded.checkpoint)
    assert upgraded.rows("totals") == before == [("a", 10), ("b", 1)]
    version.run(until="caught_up", checkpoint=upgraded.checkpoint, fresh=True)
    assert upgraded.rows("totals") == [("a", 20), ("b", 1), ("c", 3)]


def test_going_back_from_another_version_restores_the_rows(upgraded: Upgraded) -> None:
    wrong = upgraded.version(aggregate="max(amount)", log=True)
    wrong.run(until="drained", checkpoint=upgraded.checkpoint, fresh=True)
    assert upgraded.rows("totals") == [("a", 20), ("b", 1), ("c", 3)]
    restore_savepoint("payments", upgraded.checkpoint, "before")
    first = upgraded.version()
    assert upgraded.compare(first).verdict == "compatible"
    upgraded.add("3.csv", ("b", 4, 5))
    first.run(until="drained", checkpoint=upgraded.checkpoint)
    assert upgraded.rows("totals") == upgraded.rows("minutes") == [("a", 30), ("b", 5), ("c", 3)]
