"""Detectors: their options, in Python and in documents, and what a plan says about them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, TimedStream, connect, detectors, smoothing
from headrace.analytics.declare import Detect, DetectOptions
from headrace.analytics.detectors import Detector
from headrace.errors import DocumentError, OptionError, PlanError
from headrace.steps.kinds import step_models
from headrace.yaml import dump, from_text

DOCUMENT = """
name: p
sources: {{rows: {{memory: {{}}, schema: "k string, v double, w double, ts timestamp", event_time: ts}}}}
steps:
  found: {{from: rows, key_by: k, detect: {options}}}
sinks: {{out: {{from: found, memory: {{}}}}}}
"""


def read_rows() -> TimedStream:
    schema = "k string, v double, w double, ts timestamp"
    return Pipeline("p").read("rows", connect.memory(), schema=schema).event_time("ts")


def build(detector: Any, **options: Any) -> Pipeline:
    rows = read_rows()
    rows.key_by("k").detect("found", detector, **options).write("out", connect.memory())
    return rows._pipeline


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: detectors.quantile(q=1.5), "quantile: q: expected a number between 0 and 1, got 1.5"),
        (lambda: detectors.quantile(q=0.4), "quantile: expected `q` above 0.5, got 0.4"),
        (lambda: detectors.quantile(side="up"), "quantile: side: expected one of both, high, low, got 'up'"),  # type: ignore[arg-type]
        (detectors.threshold, "threshold: expected `high` or `low`"),
        (
            lambda: detectors.threshold(high=1, low=2),
            "threshold: expected `high` to be at least `low`, got 1 and 2",
        ),
        (
            lambda: detectors.threshold(high=10, low=0, hysteresis=6),
            "threshold: hysteresis 6 leaves no normal value",
        ),
        (lambda: detectors.ewma(alpha=0), "ewma: alpha: expected a weight above 0, at most 1, got 0"),
        (lambda: detectors.z_score(limit=-1), "z_score: limit: expected a number above 0, got -1"),
        (
            lambda: detectors.missing("0 seconds"),
            "missing: duration: expected a duration above zero, got '0 seconds'",
        ),
        (lambda: detectors.multi_scale(scales=[5, 1]), "multi_scale: expected ascending scales, got 5, 1"),
        (
            lambda: detectors.half_space_trees(height=20),
            "half_space_trees: height: expected a height from 1 to 12, got 20",
        ),
    ],
)
def test_an_invalid_option_is_an_error_with_its_name(make: Any, problem: str) -> None:
    with pytest.raises(OptionError) as raised:
        make()
    assert str(raised.value).splitlines()[0] == problem


@pytest.mark.parametrize(
    ("detector", "options", "problem"),
    [
        (detectors.z_score(), {}, "`z_score` has no column"),
        (detectors.z_score(), {"on": ["v", "w"]}, "`z_score` compares one column, got v, w"),
        (detectors.z_score(), {"on": "x"}, "unknown column `x`"),
        (
            detectors.ensemble(detectors.mad(), detectors.missing("1 hour")),
            {"on": "v", "order": "arrival"},
            "`missing` needs rows in event-time order",
        ),
        (detectors.ensemble(detectors.mad("v"), detectors.ewma()), {}, "`ewma` has no column"),
    ],
)
def test_a_detector_that_does_not_fit_its_columns_is_a_plan_error(
    detector: Detector, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PlanError) as raised:
        build(detector, **options).check()
    assert [error.what for error in raised.value.problems] == [problem]


def test_a_detector_needs_time_or_arrival_order() -> None:
    rows = Pipeline("p").read("rows", connect.memory(), schema="k string, v double")
    with pytest.raises(OptionError, match="event_time") as raised:
        rows.key_by("k").detect("found", detectors.z_score(), on="v")
    assert 'set order="arrival"' in str(raised.value)
    rows.key_by("k").detect("found", detectors.z_score(), on="v", order="arrival").write(
        "out", connect.memory()
    )
    rows.smooth("clean", smoothing.median(rows=3), on="v", order="arrival").write(
        "clean_out", connect.memory()
    )
    rows._pipeline.check()


@pytest.mark.parametrize(
    "detector",
    [
        detectors.threshold(high=1, duration="1 second"),
        detectors.rate_of_change(limit=1),
        detectors.ensemble(detectors.mad(), detectors.seasonal()),
    ],
)
def test_a_detector_that_measures_time_needs_rows_with_time(detector: Detector) -> None:
    rows = Pipeline("p").read("rows", connect.memory(), schema="v double")
    rows.detect("found", detector, on="v", order="arrival").write("out", connect.memory())
    with pytest.raises(PlanError) as raised:
        rows._pipeline.check()
    [problem] = raised.value.problems
    assert problem.what.endswith("needs rows with time")


@pytest.mark.parametrize(
    ("detector", "options", "problem"),
    [
        ("z_score", {"on": "v"}, "`found`: expected a detector, got 'z_score'"),
        (detectors.missing("1 hour"), {"on": "v"}, "`found`: `missing` compares no column"),
        (detectors.z_score(), {"warm_up": -1}, "`found`: warm_up: expected a number of at least 0, got -1"),
        (
            detectors.z_score(),
            {"order": "ts"},
            "`found`: order: expected one of event_time, arrival, got 'ts'",
        ),
    ],
)
def test_an_invalid_argument_is_an_error_with_the_name_of_the_step(
    detector: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(OptionError) as raised:
        build(detector, **options)
    assert str(raised.value).splitlines()[0] == problem


def test_a_column_named_score_is_a_plan_error() -> None:
    rows = read_rows().with_columns(score="v")
    rows.detect("found", detectors.z_score(), on="v").write("out", connect.memory())
    with pytest.raises(PlanError, match="score") as raised:
        rows._pipeline.check()
    assert raised.value.problems[0].hint == "rename the column before the step, which adds it"


DETECTORS = [
    detectors.threshold("v", high=3, duration="1 minute"),
    detectors.rate_of_change("v", limit=2, per="1 hour"),
    detectors.missing("10 minutes"),
    detectors.z_score("v"),
    detectors.ewma("v", alpha=0.5),
    detectors.quantile("v", q=0.999, side="high"),
    detectors.mad("v"),
    detectors.seasonal("v", per="week"),
    detectors.windowed_gaussian("v", rows=100),
    detectors.half_space_trees(["v", "w"]),
    detectors.adwin("v"),
    detectors.page_hinkley("v"),
    detectors.multi_scale("v", scales=[1, 10]),
    detectors.ensemble(detectors.mad(), detectors.missing("1 hour"), on="v", combine="mean"),
]


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda each: each.kind)
def test_a_document_has_the_same_node_as_python(detector: Detector) -> None:
    built = build(detector, warm_up=7)
    loaded = from_text(dump(built._graph))
    assert loaded["found"] == built._graph["found"]
    assert dump(loaded) == dump(built._graph)


def test_all_detectors_are_tested() -> None:
    assert {each.kind for each in DETECTORS} == {kind.kind for kind in Detector.__subclasses__()}


@pytest.mark.parametrize(
    ("options", "problem", "hint"),
    [
        ("{quantil: {on: v}}", "unknown detector `quantil`", "did you mean `quantile`?"),
        ("{warm_up: 3}", "detect has no detector", "one of threshold, rate_of_change"),
        ("{mad: {on: v}, ewma: {on: v}}", "expected one detector, got `mad` and `ewma`", "remove one"),
        ("{mad: {on: v}, warmup: 3}", "unknown key `warmup` in detect", "did you mean `warm_up`?"),
        ("{mad: {on: v, row: 3}}", "unknown key `row` in the detector `mad`", "did you mean `rows`?"),
        ("{mad: {on: v, rows: many}}", "expected a whole number of rows, 1 or more, got `many`", ""),
        ("mad", "expected the keys of detect, got `mad`", "such as {quantile"),
        (
            "{ensemble: {detectors: []}}",
            "expected a list of detectors, got an empty list",
            "such as {ensemble",
        ),
    ],
)
def test_a_wrong_document_is_an_error_with_its_place(options: str, problem: str, hint: str) -> None:
    with pytest.raises(DocumentError) as raised:
        from_text(DOCUMENT.format(options=options))
    [error] = raised.value.problems
    assert error.what == problem
    assert error.hint.startswith(hint)
    assert ":5:" in error.where


def test_the_default_warm_up_is_that_of_the_detector() -> None:
    assert DetectOptions(detectors.threshold(high=1)).rows_learned == 0
    assert DetectOptions(detectors.ensemble(detectors.mad(), detectors.multi_scale())).rows_learned == 100
    assert DetectOptions(detectors.mad(), 5).rows_learned == 5


def test_the_state_and_its_bound_are_explained() -> None:
    text = str(build(detectors.quantile(q=0.999), on="v").explain())
    assert "quantile (q 0.999) · of v · by k · warm-up of 30 rows" in text
    assert "state: a t-digest of a few hundred centroids of each k, never expired" in text


def test_the_flow_editor_has_an_entry_for_it() -> None:
    [model] = [model for model in step_models() if model.key == "detect"]
    assert model is Detect
    assert model.palette is not None
