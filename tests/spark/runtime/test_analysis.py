"""Spark analyses every branch of a plan before the first epoch, and with `check --spark` without reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import Pipeline, connect, windows
from headrace.errors import PlanError
from headrace.runtime.queries.analysis import analyse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "card string, tags array<string>, amount double, ts timestamp"


def totals_pipeline() -> Pipeline:
    """A pipeline with two wrong types, each behind a stateful step, in branches of their own."""
    pipeline = Pipeline("analysed")
    tx = pipeline.read(
        "tx",
        connect.kafka(servers="nowhere:1", topic="tx", metadata=["headers"]),
        format="json",
        schema=SCHEMA,
    )
    sums = (
        tx.event_time("ts")
        .key_by("card")
        .window(windows.tumbling("1 minute"))
        .aggregate("sums", n="sum(amount)")
    )
    sums.select("card", wrong="n.field").write("first", connect.memory())
    sums.late.where("explode_outer(tags) = 'x'", step_name="wrong_late").write("second", connect.memory())
    sums.where("n > 1", step_name="right").write("third", connect.memory())
    return pipeline


def test_all_branches_are_analysed_without_a_server(spark: SparkSession) -> None:
    problems = analyse(totals_pipeline()._plan())
    assert [problem.where.partition(": ")[2] for problem in problems] == [
        "select after `sums`",
        "`wrong_late`",
    ]
    assert "Can't extract a value" in problems[0].what


def test_valid_plan_with_exchanges_and_metadata_has_no_problem(spark: SparkSession) -> None:
    pipeline = Pipeline("analysed")
    source = connect.kafka(servers="nowhere:1", topic="tx", metadata={"timestamp": "sent_at"})
    tx = pipeline.read("tx", source, format="json", schema=SCHEMA)
    firsts = tx.event_time("ts").distinct("firsts", on=["card"], within="1 hour")
    totals = firsts.key_by("card").window(windows.tumbling("1 minute")).aggregate("totals", at="max(sent_at)")
    totals.write("out", connect.memory())
    tx.dead_letters.where("position > 1").write("dead", connect.memory())
    assert analyse(pipeline._plan()) == []


def test_two_columns_that_only_spark_can_name_are_a_problem(spark: SparkSession) -> None:
    pipeline = Pipeline("analysed")
    pipeline.read("tx", connect.kafka(servers="nowhere:1", topic="tx"), format="json", schema=SCHEMA)
    query = "select * from (select card, amount as Card from tx)"
    pipeline.sql("both", query).write("out", connect.memory())
    assert [problem.what for problem in analyse(pipeline._plan())] == ["two columns are called `Card`"]


def test_run_rejects_a_wrong_branch_before_its_first_epoch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline("rejected")
    rows = [{"card": "a", "ts": "2026-01-01T00:00:00Z"}]
    tx = pipeline.read("tx", connect.memory(rows=rows), schema="card string, ts timestamp")
    counts = (
        tx.event_time("ts")
        .key_by("card")
        .window(windows.tumbling("1 minute"))
        .aggregate("counts", n="count(*)")
    )
    out = connect.memory()
    counts.write("out", out)
    counts.select("card", wrong="n.field").write("second", connect.memory())
    with pytest.raises(PlanError, match="Can't extract a value"):
        pipeline.run(until="drained")
    assert out.contents() == []
