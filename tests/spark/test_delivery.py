"""The harness that puts sinks through deaths: ours keep their promise, and one that doesn't is found out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import connect
from headrace.connectors.base import Connector, Role, Staged, StagedRows, WriteContext, Writer
from headrace.connectors.failpoints import reach
from headrace.testing import delivery


def test_files_keep_their_promise(spark: SparkSession, tmp_path: Path) -> None:
    numbers = count()

    def target(trial: str) -> delivery.Target:
        place = tmp_path / str(next(numbers))
        return delivery.Target(connect.files(path=place, format="json"), lambda: _lines(place.glob("*.json")))

    report = delivery.check_sink(spark, target)
    assert report.passed, str(report)
    assert [trial.name for trial in report.trials][:3] == [
        *("undisturbed", "killed after files.rolled_forward", "killed after files.fenced")
    ]
    assert len(report.trials) == 9


@pytest.mark.parametrize("key", [[], ["id"]])
def test_sqlite_keeps_its_promise(spark: SparkSession, tmp_path: Path, key: list[str]) -> None:
    numbers = count()

    def target(trial: str) -> delivery.Target:
        path = tmp_path / f"{next(numbers)}.db"
        return delivery.Target(connect.sqlite(path=path, table="t", key=key), lambda: _table(path))

    report = delivery.check_sink(spark, target)
    assert report.passed, str(report)
    assert len(report.trials) == 9


def test_memory_keeps_its_promise(spark: SparkSession) -> None:
    def target(trial: str) -> delivery.Target:
        box = connect.memory()
        return delivery.Target(box, lambda: [row["id"] for row in box.contents()])

    report = delivery.check_sink(spark, target)
    assert str(report).splitlines() == [
        "memory: 3 trials, 0 rows lost, 0 doubled",
        "  ok   undisturbed: 0 lost, 0 doubled",
        "  ok   an epoch is replayed: 0 lost, 0 doubled",
        "  ok   a zombie commits: 0 lost, 0 doubled",
    ]


class Careless(Connector):
    """Appends to a list and remembers the epoch afterwards, in another step: what most people write first."""

    kind: ClassVar[str] = "careless"
    roles: ClassVar[frozenset[Role]] = frozenset({"sink"})

    def writer(self) -> Writer:
        return _CarelessWriter(self.__dict__.setdefault("content", {"rows": [], "epoch": -1}))


class _CarelessWriter:
    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content

    def open(self, run: WriteContext) -> int:
        return int(self.content["epoch"])

    def stage(self, epoch: int, frame: DataFrame) -> StagedRows:
        rows = [row.id for row in frame.collect()]
        return StagedRows(len(rows), {"rows": rows})

    def commit(self, epoch: int, staged: Staged) -> None:
        assert isinstance(staged, StagedRows)
        self.content["rows"] += staged.content["rows"]
        reach("careless.rows")
        self.content["epoch"] = epoch
        reach("careless.epoch")

    def close(self) -> None: ...


def test_a_sink_that_writes_rows_and_ledger_in_two_steps_is_found_out(spark: SparkSession) -> None:
    def target(trial: str) -> delivery.Target:
        sink = Careless()
        return delivery.Target(sink, lambda: sink.__dict__.get("content", {"rows": []})["rows"])

    def empty_target(target: delivery.Target) -> None:
        target.connector.__dict__["content"]["rows"].clear()

    report = delivery.check_sink(spark, target, disturbances={"somebody empties it": empty_target})
    assert str(report).splitlines() == [
        "careless: 6 trials, 8 rows lost, 24 doubled",
        "  ok   undisturbed: 0 lost, 0 doubled",
        "  FAIL killed after careless.rows: 0 lost, 8 doubled",
        "  ok   killed after careless.epoch: 0 lost, 0 doubled",
        "  FAIL an epoch is replayed: 0 lost, 8 doubled",
        "  FAIL a zombie commits: 0 lost, 8 doubled,"
        " RuntimeError: the older run was not fenced: its commit raised no error",
        "  FAIL somebody empties it: 8 lost, 0 doubled",
    ]
    assert not report.passed


def _lines(paths: Iterable[Path]) -> list[int]:
    return [json.loads(line)["id"] for path in paths for line in path.read_text().splitlines()]


def _table(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as database:
        return [row[0] for row in database.execute("select id from t")]
