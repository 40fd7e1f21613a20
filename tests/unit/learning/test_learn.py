"""Online learning: its options, in Python and in documents, its outputs, and what services accept."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Learned, Pipeline, TimedStream, connect, models
from headrace.access import Access, restrict
from headrace.errors import DocumentError, MissingOutputError, OptionError, PlanError
from headrace.learning.contributions import contributions_of
from headrace.models.expression import build_model, check_expression
from headrace.yaml import dump, from_text

LOGISTIC = "preprocessing.StandardScaler() | linear_model.LogisticRegression(l2=0.1)"
SCHEMA = "id int, card string, amount double, fraud boolean, ts timestamp"
DOCUMENT = """
name: p
sources: {{tx: {{memory: {{}}, schema: "id int, card string, amount double, fraud boolean, ts timestamp", event_time: ts}}}}
steps:
  risk: {{from: tx, key_by: card, learn: {options}}}
sinks: {{out: {{from: risk, memory: {{}}}}}}
"""


def read_rows() -> TimedStream:
    return Pipeline("p").read("tx", connect.memory(), schema=SCHEMA).event_time("ts")


def learn(**options: Any) -> Learned:
    values = {"features": "amount", "label": "fraud", **options}
    return read_rows().key_by("card").learn("risk", models.river(LOGISTIC), **values)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, f"river: {LOGISTIC}\n"),
        (
            {"features": ["amount", "id"], "on": "id", "label_delay": "1 day", "every": "1 day"},
            "features: [amount, id]",
        ),
        (
            {"output": "probability", "metrics": ["F1", "LogLoss"], "on_error": "fail"},
            "metrics: [F1, LogLoss]",
        ),
    ],
)
def test_a_document_has_the_same_step_as_python(options: dict[str, Any], text: str) -> None:
    risk = learn(**options)
    risk.write("out", connect.memory())
    graph = risk._pipeline._graph
    assert text in dump(graph)
    assert from_text(dump(graph))["risk"] == graph["risk"]


def test_the_outputs_and_their_columns() -> None:
    risk = learn()
    columns = ("id", "card", "amount", "fraud", "ts")
    assert risk.columns == (*columns, "prediction", "model_rows")
    assert risk.metrics.columns == ("card", "window", "metric", "value", "total", "rows")
    assert risk.drift.columns == ("card", "at", "model_rows", "error", "error_before")
    assert risk.late.columns == (*columns, "late_by", "window", "watermark", "reason")
    assert risk.dead_letters.columns == (*columns, "reason", "traceback")
    scores = read_rows().learn("scores", models.river("anomaly.HalfSpaceTrees()"), features="amount")
    with pytest.raises(MissingOutputError, match="`metrics` compares predictions with labels"):
        _ = scores.metrics


def test_explain_describes_the_model_and_its_state() -> None:
    risk = learn(on="id", label_delay="2 days")
    risk.write("out", connect.memory())
    text = str(risk._pipeline.explain())
    assert LOGISTIC in text
    assert "labels up to 2 days later on id" in text
    assert "the features of rows without a label for 2 days" in " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"label_delay": "1 day"}, "`risk`: `on` is missing"),
        ({"on": "id"}, "`risk`: `label_delay` is missing"),
        ({"label": None, "output": "probability"}, "`risk`: `label` is missing"),
        ({"output": "p"}, "`risk`: output: expected one of label, probability, got 'p'"),
        ({"every": "0 seconds"}, "`risk`: every: expected a duration above zero, got '0 seconds'"),
    ],
)
def test_an_invalid_option_is_an_error(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        learn(**options)
    assert str(raised.value).splitlines()[0] == problem


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"features": "amuont"}, "unknown feature column `amuont`"),
        ({"label": "froud"}, "unknown label column `froud`"),
        ({"on": "ids", "label_delay": "1 day"}, "unknown label column `ids`"),
        ({"features": ["amount", "FRAUD"]}, "the label `fraud` is also a feature"),
    ],
)
def test_unknown_columns_are_plan_errors(options: dict[str, Any], problem: str) -> None:
    risk = learn(**options)
    risk.write("out", connect.memory())
    with pytest.raises(PlanError, match=problem):
        risk._pipeline._plan()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("linear_model.LinearRegression(", "is not an expression: '(' was never closed"),
        ("os.system('ls')", "River has no module `os` that a model can use"),
        ("datasets.Phishing()", "River has no module `datasets` that a model can use"),
        ("linear_model.__loader__.load_module('os')", "is no class of River"),
        ("linear_model.LinearRegression(**{'l2': 1})", "is neither a class of River nor a plain value"),
        ("(lambda: 1)()", "is no class of River"),
        ("print('x')", "is no class of River"),
        ("[x for x in (1, 2)]", "is neither a class of River nor a plain value"),
        ("a.b()" + " | a.b()" * 200, "the expression has more than 1,000 characters"),
    ],
)
def test_an_expression_is_classes_of_river_with_plain_values(text: str, problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        check_expression(text)
    assert problem in str(raised.value)


def test_an_expression_builds_the_model_of_river() -> None:
    text = "compose.Select('a', 'b') | preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(-0.5))"
    assert repr(build_model(text)).count("\n") > 3
    both = build_model("preprocessing.StandardScaler() + preprocessing.MinMaxScaler()")
    assert type(both).__name__ == "TransformerUnion"
    losses = build_model("linear_model.LinearRegression(loss=optim.losses.Huber(), optimizer=optim.SGD(0.1))")
    assert type(losses.loss).__name__ == "Huber"
    with pytest.raises(OptionError, match=r"River has no class `optim\.losses\.Hubber`"):
        build_model("linear_model.LinearRegression(loss=optim.losses.Hubber())")
    with pytest.raises(OptionError, match=r"River has no module `optim\.loss`"):
        build_model("linear_model.LinearRegression(loss=optim.loss.Huber())")


def test_a_restricted_service_accepts_expressions_but_no_code() -> None:
    with restrict(Access()):
        from_text(
            DOCUMENT.format(
                options="{river: linear_model.LogisticRegression(), features: amount, label: fraud}"
            )
        )
        with pytest.raises(DocumentError, match="a model that loads Python is not accepted"):
            from_text(DOCUMENT.format(options='{learner: "os:getcwd", features: amount, label: fraud}'))


def test_problems_of_a_document_have_their_position() -> None:
    with pytest.raises(DocumentError) as raised:
        from_text(DOCUMENT.format(options="{river: os.system(), features: amount, label: fraud}"))
    assert "River has no module `os`" in str(raised.value)
    assert ":5:" in str(raised.value)


def test_a_model_that_is_not_linear_has_no_contributions() -> None:
    assert contributions_of(build_model("tree.HoeffdingTreeClassifier()"), {"a": 1.0}) is None
