"""Predictions: their options, in Python and in documents, their columns, and what services accept."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import DivertingStream, Pipeline, Stream, connect, models
from headrace.access import Access, restrict
from headrace.errors import DocumentError, LoadError, OptionError, PlanError
from headrace.yaml import dump, from_text

DOCUMENT = """
name: p
sources: {{tx: {{memory: {{}}, schema: "card string, amount double"}}}}
steps:
  scored: {{from: tx, predict: {options}}}
sinks: {{out: {{from: scored, memory: {{}}}}}}
"""


def read_rows() -> Stream:
    return Pipeline("p").read("tx", connect.memory(), schema="card string, amount double")


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (models.sklearn("risk.joblib"), "sklearn: risk.joblib"),
        (
            models.sklearn("risk.joblib", method="transform"),
            "sklearn: {path: risk.joblib, method: transform}",
        ),
        (models.onnx("versions"), "onnx: versions"),
        (models.function("tests.unit.models.scoring:double"), "function: tests.unit.models.scoring:double"),
        (models.http("http://m/risk"), "http: http://m/risk"),
        (
            models.http("http://m/risk", token="t", timeout="2 seconds", fallback={"risk": 0.5}),
            "http: {url: http://m/risk, token: t, timeout: 2 seconds, fallback: {risk: 0.5}}",
        ),
    ],
)
def test_a_document_has_the_same_prediction_as_python(model: models.Model, text: str) -> None:
    rows = read_rows()
    rows.predict("scored", model, features="amount", output="risk double").write("out", connect.memory())
    graph = rows._pipeline._graph
    assert text in dump(graph)
    assert from_text(dump(graph))["scored"] == graph["scored"]


def test_a_document_has_the_shadow_of_a_model() -> None:
    rows, second = read_rows(), models.onnx("next.onnx")
    model = models.sklearn("risk.joblib")
    rows.predict("scored", model, features="amount", output="risk double", shadow=second).write(
        "out", connect.memory()
    )
    graph = rows._pipeline._graph
    assert from_text(dump(graph))["scored"] == graph["scored"]
    assert "beside onnx next.onnx" in graph["scored"].description()


def test_a_shadow_that_reads_a_file_needs_features() -> None:
    rows, model = read_rows(), models.http("http://m/risk")
    shadow = models.onnx("next.onnx")
    rows.predict("scored", model, output="risk double", shadow=shadow).write("out", connect.memory())
    with pytest.raises(PlanError, match="the features of onnx are missing"):
        rows._pipeline.check()


def test_it_adds_the_columns_of_the_model_and_diverts_rows() -> None:
    model = models.onnx("risk.onnx")
    scored = read_rows().predict("scored", model, features="amount", output="risk double")
    assert isinstance(scored, DivertingStream)
    assert scored.columns == ("card", "amount", "risk", "model_version")
    assert scored.dead_letters.columns == ("card", "amount", "reason", "traceback")
    strict = read_rows().predict("scored", model, features="amount", output="risk double", on_error="fail")
    assert strict._pipeline._graph["scored"].outputs == ("",)
    keyed = read_rows().key_by("card").predict("scored", model, features="amount", output="risk double")
    assert type(keyed).__name__ == "KeyedStream"


def test_a_function_that_cannot_be_imported_is_an_error_at_the_call() -> None:
    with pytest.raises(LoadError, match=r"`tests\.unit\.models\.scoring` has no `triple`"):
        read_rows().predict(
            "scored", models.function("tests.unit.models.scoring:triple"), output="risk double"
        )


def test_a_fallback_has_a_value_for_each_column() -> None:
    rows = read_rows()
    model = models.http("http://m/risk", fallback={"risc": 0.5})
    rows.predict("scored", model, output="risk double").write("out", connect.memory())
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    assert [error.what for error in raised.value.problems] == [
        "`risc` is not a column of `output`",
        "`risk` has no fallback",
    ]


@pytest.mark.parametrize("url", ["m", "ftp://m/risk", "http:///risk", "http://m:x/risk", "http://[m/risk"])
def test_an_address_that_is_none_is_rejected(url: str) -> None:
    with pytest.raises(OptionError, match="http: url: expected an address such as https://host/path"):
        models.http(url)


def test_an_address_is_shown_without_its_secrets() -> None:
    assert models.http("https://u:p@m.org/k?token=t").phrase() == "http https://m.org"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"model": 3},
            '`scored`: model: expected a model, got 3\n  hint: such as models.sklearn("risk.joblib")',
        ),
        ({"output": "risk duble"}, "`scored`: unknown type `duble`"),
        ({"on_error": "skip"}, "`scored`: on_error: expected one of divert, fail, got 'skip'"),
    ],
)
def test_an_invalid_argument_is_an_error_with_the_name_of_the_step(
    options: dict[str, Any], problem: str
) -> None:
    options = {"model": models.onnx("risk.onnx"), "output": "risk double", **options}
    with pytest.raises(OptionError) as raised:
        read_rows().predict("scored", options.pop("model"), **options)
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("features", "problem"),
    [
        ("amout", "unknown feature column `amout`"),
        (None, "the features of onnx are missing"),
    ],
)
def test_wrong_features_are_a_plan_error(features: str | None, problem: str) -> None:
    rows = read_rows()
    rows.predict("scored", models.onnx("risk.onnx"), features=features, output="risk double").write(
        "out", connect.memory()
    )
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    assert [error.what for error in raised.value.problems] == [problem]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("{output: risk double}", "predict has no model"),
        ("{onnx: risk.onnx}", "`output` of predict is missing"),
        ("{onx: risk.onnx, output: risk double}", "unknown model `onx`"),
        (
            "{onnx: risk.onnx, function: a, output: risk double}",
            "expected one model, got `onnx` and `function`",
        ),
        ("{function: scoring, output: risk double}", "expected module:name, got 'scoring'"),
    ],
)
def test_a_wrong_document_is_an_error_with_its_place(options: str, problem: str) -> None:
    with pytest.raises(DocumentError) as raised:
        from_text(DOCUMENT.format(options=options))
    [error] = raised.value.problems
    assert error.what == problem
    assert ":5:" in error.where


@pytest.mark.parametrize(
    ("model", "access", "problem"),
    [
        ("sklearn: risk.joblib", Access(), "a pickled model is not accepted, because loading it runs code"),
        ("sklearn: /etc/risk", Access(code=True), "a path of the service's machine is not accepted"),
        ("onnx: /etc/risk", Access(), "a path of the service's machine is not accepted"),
        ("onnx: ../risk.onnx", Access(), "a path of the service's machine is not accepted"),
        ('function: "scoring:double"', Access(), "a model that loads Python is not accepted"),
        ("sklearn: risk.joblib", Access(code=True), None),
        ("onnx: risk.onnx", Access(), None),
        ("onnx: /models/risk.onnx", Access(files="/models"), None),
        ("http: http://m/risk", Access(hosts=("m",)), None),
        ("http: http://other/risk", Access(hosts=("m",)), "the host `other` is not accepted"),
        (
            "http: {url: http://other/risk, batch: 5}",
            Access(hosts=("m",)),
            "the host `other` is not accepted",
        ),
    ],
)
def test_a_restricted_service_decides_on_code_and_paths(
    model: str, access: Access, problem: str | None
) -> None:
    document = DOCUMENT.format(options=f"{{{model}, features: amount, output: risk double}}")
    problems = []
    with restrict(access):
        try:
            from_text(document)
        except DocumentError as error:
            problems = [each.what for each in error.problems]
    assert problems == ([] if problem is None else [problem])
