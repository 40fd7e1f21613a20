"""Smoothing and alerts: their options, in Python and in documents."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, TimedKeyedStream, connect, smoothing
from headrace.analytics.smoothing import Smoothing
from headrace.errors import DocumentError, OptionError, PlanError
from headrace.yaml import dump, from_text

DOCUMENT = """
name: p
sources: {{rows: {{memory: {{}}, schema: "k string, region string, v double, ts timestamp", event_time: ts}}}}
steps:
  found: {{from: rows, key_by: k, {options}}}
sinks: {{out: {{from: found, memory: {{}}}}}}
"""


def read_rows() -> TimedKeyedStream:
    schema = "k string, region string, v double, ts timestamp"
    return Pipeline("p").read("rows", connect.memory(), schema=schema).event_time("ts").key_by("k")


METHODS = [
    smoothing.moving_average(rows=3),
    smoothing.median(rows=7),
    smoothing.exponential(alpha=0.5),
    smoothing.kalman(process=0.1, measurement=2),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda each: each.kind)
def test_a_document_has_the_same_smoothing_as_python(method: Smoothing) -> None:
    rows = read_rows()
    rows.smooth("clean", method, on="v", order="arrival").write("out", connect.memory())
    loaded = from_text(dump(rows._pipeline._graph))
    assert loaded["clean"] == rows._pipeline._graph["clean"]
    rows._pipeline.check()
    assert rows._pipeline._graph.facts(loaded["clean"].inputs[0]).columns == ("k", "region", "v", "ts")
    assert loaded.facts(loaded["out"].inputs[0]).columns == ("k", "region", "v", "ts", "v_smooth")


def test_all_methods_are_tested() -> None:
    assert {each.kind for each in METHODS} == {kind.kind for kind in Smoothing.__subclasses__()}


def test_a_document_has_the_same_alert_as_python() -> None:
    rows = read_rows()
    alerts = rows.alert(
        "alerts", when="v > 9", resolve="v < 5", severity="high", repeat="1 hour", group="region"
    )
    alerts.write("out", connect.memory())
    graph = rows._pipeline._graph
    loaded = from_text(dump(graph))
    assert loaded["alerts"] == graph["alerts"]
    assert "alert: {when: v > 9, resolve: v < 5, severity: high, repeat: 1 hour, group: region}" in dump(
        graph
    )
    text = str(rows._pipeline.explain())
    assert "when v > 9 · resolved when v < 5 · by k · one per region · severity high" in text
    assert "the alerts that fire of each k, until they are resolved" in text


@pytest.mark.parametrize(
    ("method", "options", "problem"),
    [
        (smoothing.median(), {}, "`median` has no column"),
        (smoothing.median(), {"on": "w"}, "unknown smooth column `w`"),
    ],
)
def test_a_column_that_does_not_exist_is_a_plan_error(
    method: Smoothing, options: dict[str, Any], problem: str
) -> None:
    rows = read_rows()
    rows.smooth("clean", method, **options).write("out", connect.memory())
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    assert [error.what for error in raised.value.problems] == [problem]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"when": "w > 9"}, "unknown column `w`"),
        ({"when": "v > 9", "resolve": "v <"}, "syntax error"),
        ({"when": "v > 9", "group": ["area"]}, "unknown group column `area`"),
    ],
)
def test_a_condition_that_does_not_fit_is_a_plan_error(options: dict[str, Any], problem: str) -> None:
    rows = read_rows()
    rows.alert("alerts", **options).write("out", connect.memory())
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    [error] = raised.value.problems
    assert problem in error.what


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"when": ""}, "`alerts`: when: expected a condition in Spark SQL, got ''"),
        ({"when": "v > 9", "repeat": 5}, "`alerts`: repeat: expected a duration, got 5"),
        ({"when": "v > 9", "order": "ts"}, "`alerts`: order: expected one of event_time, arrival, got 'ts'"),
    ],
)
def test_an_invalid_argument_is_an_error_with_the_name_of_the_step(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(OptionError) as raised:
        read_rows().alert("alerts", **options)
    assert str(raised.value).splitlines()[0] == problem


def test_smoothing_needs_a_method() -> None:
    with pytest.raises(OptionError, match="`clean`: expected a smoothing method, got 'median'"):
        read_rows().smooth("clean", "median", on="v")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("smooth: {medain: {on: v}}", "unknown smoothing method `medain`"),
        ("smooth: {median: {on: v, rows: 0}}", "expected a whole number of rows, 1 or more, got `0`"),
        ("alert: {severity: high}", "`when` of alert is missing"),
        ("alert: {when: v > 9, resolved: v < 5}", "unknown key `resolved` in alert"),
    ],
)
def test_a_wrong_document_is_an_error_with_its_place(options: str, problem: str) -> None:
    with pytest.raises(DocumentError) as raised:
        from_text(DOCUMENT.format(options=options))
    [error] = raised.value.problems
    assert error.what == problem
    assert ":5:" in error.where
