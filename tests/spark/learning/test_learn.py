"""Models that learn in runs: kills, batches, the state of a checkpoint, and the export of a model."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from river import evaluate, metrics
from tests.support.learning import LOGISTIC, make_rows

from headrace import Pipeline, connect, models
from headrace.cli.app import main
from headrace.errors import PlanError
from headrace.models.expression import build_model
from headrace.testing import run_case, stream_equals_batch

SCHEMA = "id int, amount double, age double, fraud boolean, ts timestamp"


def document(rows: list[dict[str, Any]], **learn: Any) -> dict[str, Any]:
    source = {"memory": {"rows": rows} if rows else {}, "schema": SCHEMA, "event_time": {"column": "ts"}}
    options = {"river": LOGISTIC, "features": ["amount", "age"], "label": "fraud", "every": "1 day", **learn}
    return {"sources": {"tx": source}, "steps": {"risk": {"from": "tx", "learn": options}}}


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "ts": row["ts"].timestamp()}


def test_accuracy_over_ten_kills_equals_rivers_offline_run(spark: SparkSession) -> None:
    rows = make_rows(110)
    pairs = [({"amount": row["amount"], "age": row["age"]}, row["fraud"]) for row in rows]
    offline, model = metrics.Accuracy(), build_model(LOGISTIC)
    evaluate.progressive_val_score(pairs, model, offline)
    predictions, again = [], build_model(LOGISTIC)
    for features, label in pairs:
        predictions.append(again.predict_one(features))
        again.learn_one(features, label)
    script: list[Any] = []
    for at in range(0, 110, 11):
        script.append({"rows": {"tx": [plain(row) for row in rows[at : at + 11]]}})
        script.append({"restart": "kill" if at % 2 else {"kill": "before_commit"}})
    expected = [{"id": n, "prediction": value, "model_rows": n} for n, value in enumerate(predictions)]
    script.append({"end": True})
    total = [{"metric": "Accuracy", "total": offline.get(), "rows": 110}]
    script.append({"expect": {"risk": expected, "risk.metrics": total}})
    case = {"name": "kills", "pipeline": document([]), "script": script}
    outcome = run_case(json.dumps(case), spark=spark)
    assert not outcome.failure, outcome.failure


def test_a_stream_of_payments_equals_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps(row, default=str) for row in make_rows(30)]
    (tmp_path / "tx.jsonl").write_text("\n".join(lines))
    pipeline = Pipeline("learning")
    tx = pipeline.read("tx", connect.files(path=tmp_path / "tx.jsonl"), format="json", schema=SCHEMA)
    model = models.river(LOGISTIC)
    risk = tx.event_time("ts").key_by(old="age > 50").learn("risk", model, features=["amount"], label="fraud")
    risk.write("out", connect.memory())
    risk.metrics.write("metrics", connect.memory())
    assert stream_equals_batch(pipeline, spark=spark) == []


def test_state_shows_the_model_which_is_exported(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = make_rows(40)
    lines = "\n".join(json.dumps(row, default=str) for row in rows)
    (tmp_path / "tx.jsonl").write_text(lines)
    source = {
        "files": {"path": str(tmp_path / "tx.jsonl")},
        "format": "json",
        "schema": SCHEMA,
        "event_time": {"column": "ts"},
    }
    file = tmp_path / "fraud.yaml"
    learn = document([])["steps"]["risk"]
    sinks = {"out": {"from": "risk", "files": {"path": str(tmp_path / "out"), "format": "json"}}}
    plan = {"name": "fraud", "sources": {"tx": source}, "steps": {"risk": learn}, "sinks": sinks}
    file.write_text(json.dumps(plan))
    Pipeline.from_yaml(file).run(until="caught_up", checkpoint=tmp_path / "checkpoint", progress=False)
    options = [str(file), "--checkpoint", str(tmp_path / "checkpoint")]
    with pytest.raises(SystemExit, match="0"):
        main(["state", *options])
    shown = capsys.readouterr().out
    assert "model_rows=39" in shown
    assert "buffered=1" in shown
    with pytest.raises(SystemExit, match="0"):
        main(["model", "export", *options, str(tmp_path / "risk.pkl")])
    model, same = pickle.loads((tmp_path / "risk.pkl").read_bytes()), build_model(LOGISTIC)
    for row in rows[:39]:
        same.learn_one({"amount": row["amount"], "age": row["age"]}, row["fraud"])
    features = {"amount": 60.0, "age": 30.0}
    assert model.predict_proba_one(features) == same.predict_proba_one(features)
    with pytest.raises(SystemExit, match="2"):
        main(["model", "export", *options, str(tmp_path / "risk.pkl"), "--step", "risks"])
    assert "`risks` is no step that learns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("linear_model.LogisticRegresion()", {}, "River has no class `linear_model.LogisticRegresion`"),
        (
            "linear_model.LinearRegression()",
            {},
            "a regressor predicts numbers, but the label has the type boolean",
        ),
        ("linear_model.LogisticRegression(l=1)", {}, "unexpected keyword argument 'l'"),
        (LOGISTIC, {"metrics": "Acuracy"}, "River has no metric `Acuracy`"),
        (LOGISTIC, {"metrics": "MAE"}, "the metric `MAE` does not fit a classifier"),
        ("anomaly.HalfSpaceTrees()", {"output": "probability"}, "only a classifier predicts a probability"),
    ],
)
def test_a_model_that_does_not_fit_is_a_plan_error(
    spark: SparkSession, model: str, options: dict[str, Any], message: str
) -> None:
    tx = Pipeline("learning").read("tx", connect.memory(rows=[]), schema=SCHEMA).event_time("ts")
    risk = tx.learn("risk", models.river(model), features="amount", label="fraud", **options)
    with pytest.raises(PlanError, match=message):
        risk.to_dataframe(how="batch")
