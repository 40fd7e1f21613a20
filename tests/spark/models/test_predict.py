"""Models in runs: rows with predictions, dead letters, and versions over a failure."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import numpy
import pandas
import pytest
from pyspark.sql import SparkSession
from sklearn.linear_model import LinearRegression
from tests.support.model_service import double, serve
from tests.support.onnx_models import onnx_sum

from headrace import Pipeline, connect, models, windows
from headrace.errors import PlanError, UserCodeError

ROWS = [
    {"id": n, "amount": amount, "ts": f"2026-01-01T00:00:0{n}Z"} for n, amount in enumerate([1.0, None, 3.0])
]
SCHEMA = "id int, amount double, ts timestamp"


def train(path: Path, factor: float) -> None:
    """Write a model that computes `factor * amount`."""
    path.parent.mkdir(exist_ok=True)
    amounts = numpy.array([[1.0], [2.0]])
    joblib.dump(LinearRegression().fit(amounts, factor * amounts[:, 0]), path)


def test_predictions_keep_the_time_of_rows_and_divert_those_that_the_model_rejects(
    spark: SparkSession, tmp_path: Path
) -> None:
    train(tmp_path / "risk.joblib", 2.0)
    pipeline = Pipeline("models")
    rows = pipeline.read("tx", connect.memory(rows=ROWS), schema=SCHEMA).event_time("ts")
    model = models.sklearn(str(tmp_path / "risk.joblib"))
    scored = rows.predict("scored", model, features="AMOUNT", output="risk double")
    totals = scored.key_by("model_version").window(windows.tumbling("1 minute"))
    out, dead = connect.memory(), connect.memory()
    totals.aggregate("totals", risk="sum(risk)", n="count(*)").write("out", out)
    scored.dead_letters.write("dead", dead)
    pipeline.run(until="drained", checkpoint=tmp_path / "checkpoint")
    [total] = out.contents()
    assert (total["risk"], total["n"]) == (pytest.approx(8.0), 2)
    assert total["model_version"].startswith("risk-")
    [letter] = dead.contents()
    assert letter["id"] == 1
    assert "NaN" in letter["reason"]


def test_rows_pass_a_service_and_an_onnx_model_and_none_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "sum.onnx").write_bytes(onnx_sum())
    rows = [{"id": n, "amount": float(n)} for n in range(10)]
    pipeline = Pipeline("models")
    tx = pipeline.read("tx", connect.memory(rows=rows), schema="id int, amount double")
    out, dead = connect.memory(), connect.memory()
    with serve(double, lambda rows: (500, b""), double) as server:
        service = models.http(server.url, batch=4, concurrency=1, retries=0)
        remote = tx.predict("remote", service, features="amount", output="twice double")
        model = models.onnx(str(tmp_path / "sum.onnx"))
        remote.drop("model_version").predict(
            "summed", model, features=["amount", "twice"], output="total float"
        ).write("out", out)
        remote.dead_letters.write("dead", dead)
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert sum(map(len, server.requests)) == 10
    failed = {row["id"] for row in dead.contents()}
    assert failed == {row["amount"] for row in server.requests[1]}
    assert {row["id"]: row["total"] for row in out.contents()} == {
        n: 3.0 * n for n in range(10) if n not in failed
    }


def test_a_batch_reads_the_file_where_it_is(spark: SparkSession, tmp_path: Path) -> None:
    train(tmp_path / "models" / "v2.joblib", 2.0)
    train(tmp_path / "models" / "v10.joblib", 10.0)
    rows = Pipeline("models").read("tx", connect.memory(rows=ROWS[:1]), schema=SCHEMA)
    scored = rows.predict(
        "scored", models.sklearn(str(tmp_path / "models")), features="amount", output="risk double"
    )
    [row] = scored.to_dataframe(how="batch").toArrow().to_pylist()
    assert row["risk"] == pytest.approx(10.0)
    assert row["model_version"].startswith("v10-")


def test_a_replayed_epoch_uses_the_version_that_it_used_before(spark: SparkSession, tmp_path: Path) -> None:
    inbox, fails = tmp_path / "in", tmp_path / "fails"
    inbox.mkdir()

    def fail(row: object) -> bool:
        if fails.exists():
            raise ValueError("stopped")
        return True

    def run() -> None:
        pipeline = Pipeline("models")
        rows = pipeline.read("tx", connect.files(path=inbox, format="json"), schema="id int, amount double")
        model = models.sklearn(str(tmp_path / "models"))
        scored = rows.predict("scored", model, features="amount", output="risk double")
        scored.filter("passed", fail, on_error="fail").write(
            "out", connect.files(path=tmp_path / "out", format="json")
        )
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")

    def add(number: int) -> None:
        (inbox / f"{number}.json").write_text(json.dumps({"id": number, "amount": 1.0}))

    train(tmp_path / "models" / "v1.joblib", 1.0)
    add(0)
    run()
    add(1)
    fails.touch()
    with pytest.raises(UserCodeError, match="stopped"):
        run()
    fails.unlink()
    (tmp_path / "models" / "v1.joblib").unlink()
    train(tmp_path / "models" / "v2.joblib", 2.0)
    add(2)
    run()
    stored = [json.loads(file.read_text()) for file in (tmp_path / "out").glob("*.json")]
    actual = [(row["id"], round(row["risk"]), row["model_version"][:2]) for row in stored]
    assert sorted(actual) == [(0, 1, "v1"), (1, 1, "v1"), (2, 2, "v2")]


def test_a_model_that_does_not_fit_is_a_plan_error(spark: SparkSession, tmp_path: Path) -> None:
    train(tmp_path / "risk.joblib", 2.0)
    pipeline = Pipeline("models")
    rows = pipeline.read("tx", connect.memory(rows=ROWS), schema=SCHEMA)
    model = models.sklearn(str(tmp_path / "risk.joblib"))
    rows.predict("scored", model, features=["id", "amount"], output="risk double").write(
        "out", connect.memory()
    )
    with pytest.raises(PlanError, match="it was fitted with 1 features, not with 2"):
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")


def test_a_shadow_model_is_compared_and_its_results_are_not_used(spark: SparkSession, tmp_path: Path) -> None:
    train(tmp_path / "v1.joblib", 2.0)

    def double_small(rows: pandas.DataFrame) -> pandas.Series:
        return rows["amount"].where(rows["amount"] < 6, 0.0) * 2

    rows = [{"id": n, "amount": float(n)} for n in range(10)]
    pipeline = Pipeline("models")
    tx = pipeline.read("tx", connect.memory(rows=rows), schema="id int, amount double")
    out = connect.memory()
    model, second = models.sklearn(str(tmp_path / "v1.joblib")), models.function(double_small)
    scored = tx.predict("scored", model, features="amount", output="risk double", shadow=second)
    scored.write("out", out)
    broken = models.function(lambda rows: rows["none"])
    tx.predict("other", model, features="amount", output="risk double", shadow=broken).write(
        "other_out", connect.memory()
    )
    with pipeline.start(checkpoint=tmp_path / "checkpoint", until="caught_up") as run:
        run.wait(timeout=300)
        calls = run.status().calls
    assert {row["id"]: row["risk"] for row in out.contents()} == {
        n: pytest.approx(2.0 * n) for n in range(10)
    }
    compared = {name: value for name, value in calls["scored"].items() if name.startswith("shadow")}
    assert compared == {
        "shadow_rows": 10,
        "shadow_disagreements": 4,
        "shadow_distance": pytest.approx(2.0 * (6 + 7 + 8 + 9)),
        "shadow_errors": 0,
    }
    assert (calls["other"]["shadow_errors"], calls["other"]["errors"]) == (10, 0)
