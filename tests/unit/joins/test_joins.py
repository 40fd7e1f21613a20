"""Joins before Spark: options, columns, errors with hints, state bounds, documents and queries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Pipeline, connect, patterns, triggers, windows, yaml
from headrace.errors import HeadraceError, OptionError, PlanError
from headrace.joins.declare import bounds_of
from headrace.plan.queries import queries_of
from headrace.plan.warnings import warnings_of
from headrace.steps.base import Ref
from headrace.streams.timed import TimedStream

MINUTE = 60_000_000


def sides(pipeline: Pipeline) -> tuple[TimedStream, TimedStream]:
    left = pipeline.read("a", connect.memory(), schema="k string, lv int, ts timestamp")
    right = pipeline.read("b", connect.memory(), schema="k string, rv int, at timestamp")
    return left.event_time("ts"), right.event_time("at", out_of_order="1 minute")


def problems(build: Callable[[TimedStream, TimedStream], Any]) -> list[str]:
    pipeline = Pipeline("p")
    build(*sides(pipeline))
    with pytest.raises(PlanError) as error:
        pipeline.check()
    return [f"{problem.what}; {problem.hint}" for problem in error.value.problems]


@pytest.mark.parametrize(
    ("within", "bounds"),
    [
        ("1 minute", (-MINUTE, MINUTE)),
        (timedelta(minutes=1), (-MINUTE, MINUTE)),
        (("-1 minute", "0 seconds"), (-MINUTE, 0)),
        ([timedelta(minutes=-2), "-1 minute"], (-2 * MINUTE, -MINUTE)),
    ],
)
def test_within_is_a_distance_or_bounds(within: Any, bounds: tuple[int, int]) -> None:
    assert bounds_of(within) == bounds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": ("1 minute", "-1 minute")}, "is greater than the second"),
        ({"within": ("1 minute",)}, "expected a distance or two bounds"),
        ({"within": "soon"}, "expected a duration"),
        ({"on": []}, "expected the key columns"),
        ({"how": "outer"}, "how: expected one of inner, left, right, full, semi, anti"),
        ({"select": {}}, "expected names and columns"),
    ],
)
def test_an_invalid_option_is_an_error_with_the_name_of_the_step(
    options: dict[str, Any], message: str
) -> None:
    left, right = sides(Pipeline("p"))
    with pytest.raises(HeadraceError, match="`j`") as error:
        left.join("j", right, **{"on": "k", "within": "1 minute", **options})
    assert message in str(error.value)


def test_results_have_the_left_columns_then_the_right_ones_that_are_no_keys() -> None:
    pipeline = Pipeline("p")
    left, right = sides(pipeline)
    left.join("j", right, on="k", within="1 minute").write("s", connect.memory())
    left.join("semi", right, on="k", within="1 minute", how="semi").late.write("l", connect.memory())
    left.key_by("k").window(windows.tumbling("1 hour")).join_window("w", right).write("t", connect.memory())
    graph = pipeline._plan()
    assert graph.facts(Ref("j")).columns == ("k", "lv", "ts", "rv", "at")
    assert graph.facts(Ref("semi")).columns == ("k", "lv", "ts")
    assert graph.facts(Ref("w")).columns == ("k", "lv", "ts", "rv", "at", "window")
    late = ("k", "lv", "ts", "rv", "at", "late_by", "window", "watermark", "reason")
    assert graph.facts(Ref("semi", "late")).columns == late


def test_a_semi_join_selects_left_columns() -> None:
    pipeline = Pipeline("p")
    left, right = sides(pipeline)
    where, select = "left.lv < right.rv", {"double": "left.lv * 2"}
    left.join("j", right, on="k", within="1 minute", how="semi", where=where, select=select)
    assert pipeline._plan().facts(Ref("j")).columns == ("double",)


def test_a_column_of_both_sides_needs_a_select() -> None:
    [problem] = problems(lambda left, right: left.join("j", left, on="k", within="1 minute", how="left"))[:1]
    assert problem.startswith("two columns are called `lv`; both streams have it; choose the columns")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda left, right: left.join("j", right, on="key", within="1 minute"),
            ["unknown left key column `key`", "unknown right key column `key`"],
        ),
        (
            lambda left, right: left.join("j", right, on="k", within="1 minute", where="left.lv > rv"),
            ["`rv` has no qualifier; write left.rv or right.rv"],
        ),
        (
            lambda left, right: left.join("j", right, on="k", within="1 minute", select={"v": "right.lv"}),
            ["unknown column `right.lv`"],
        ),
        (
            lambda left, right: left.join(
                "j", right, on="k", within="1 minute", how="semi", select={"v": "left.lv + right.rv"}
            ),
            [
                "semi and anti joins return columns of the left stream, but `v` is `left.lv + right.rv`; "
                "select left columns, or use how=inner or how=left"
            ],
        ),
        (
            lambda left, right: (
                left.key_by("k")
                .window(windows.tumbling("1 hour"))
                .join_window("j", right, how="anti", select={"k": "left.k", "v": "right.rv"})
            ),
            ["semi and anti joins return columns of the left stream, but `v` is `right.rv`"],
        ),
        (
            lambda left, right: left.key_by("k").window(windows.session("1 hour")).join_window("j", right),
            ["a join accepts tumbling, sliding, cumulating and attached windows, got session"],
        ),
        (
            lambda left, right: left.join("j", right.processing_time(), on="k", within="1 minute"),
            ["one stream has event time, the other the time of a clock"],
        ),
    ],
)
def test_mistakes_are_found_before_spark(
    build: Callable[[TimedStream, TimedStream], Any], expected: list[str]
) -> None:
    actual = problems(build)
    assert [text for text in expected if not any(problem.startswith(text) for problem in actual)] == []


def test_a_join_needs_time_and_inputs_that_do_not_change() -> None:
    pipeline = Pipeline("p")
    left, right = sides(pipeline)
    hourly = left.key_by("k").window(windows.tumbling("1 hour"))
    panes = hourly.emit(early=triggers.every("1 minute")).aggregate("panes", n="count(*)")
    panes.join("j", right, on="k", within="1 hour").write("s", connect.memory())
    with pytest.raises(PlanError, match="emits changed rows again"):
        pipeline.check()


def test_a_window_join_takes_no_emit_and_a_join_takes_streams_of_one_pipeline() -> None:
    left, right = sides(Pipeline("p"))
    windowed = left.window(windows.tumbling("1 hour")).emit(lateness="1 hour")
    with pytest.raises(OptionError, match="emits results when a window closes"):
        windowed.join_window("j", right)
    with pytest.raises(OptionError, match="a stream of the same pipeline"):
        left.join("j", sides(Pipeline("q"))[1], on="k", within="1 minute")
    with pytest.raises(OptionError, match="expected a stream with time"):
        left.join("j", "b", on="k", within="1 minute")  # type: ignore[arg-type]


def test_explain_shows_the_bound_of_the_state() -> None:
    pipeline = Pipeline("p")
    left, right = sides(pipeline)
    left.join("j", right, on="k", within=("0 seconds", "15 minutes")).write("s", connect.memory())
    left.join_as_of("o", right, on="k").write("t", connect.memory())
    left.join_as_of("f", right, on="k", direction="forward", tolerance="1 hour").write("u", connect.memory())
    graph = pipeline._plan()
    assert str(graph["j"].state_bound(graph)) == (
        "left rows for 16 minutes and right rows for 1 minute, by event time"
    )
    assert "no bound: grows with the distinct values of k" in str(graph["o"].state_bound(graph))
    assert str(graph["f"].state_bound(graph)) == "the rows of each k of the last 61 minutes"
    assert "left rows for 16 minutes" in str(pipeline.explain())


def test_forward_without_tolerance_warns_and_feeds_no_stateful_step() -> None:
    pipeline = Pipeline("p")
    left, right = sides(pipeline)
    near = left.join_as_of("near", right, on="k", direction="nearest")
    near.write("s", connect.memory())
    assert [warning.what for warning in warnings_of(pipeline._plan())] == [
        "without a tolerance, `nearest` stores a row until a later right row arrives"
    ]
    near.key_by("k").window(windows.tumbling("1 hour")).aggregate("n", n="count(*)").write(
        "t", connect.memory()
    )
    with pytest.raises(PlanError, match=r"has no bound\n *hint: set tolerance="):
        pipeline.check()


def test_a_document_builds_the_same_plan_and_is_written_back() -> None:
    pipeline = Pipeline("p")
    left, right = sides(pipeline)
    rises = patterns.step("low", "lv < 1").followed_by("high", "lv > 9")
    actual = (
        left.where("lv > 0").key_by("k").match("rises", rises, within="1 minute", select={"v": "high.lv"})
    )
    joined = actual.join("j", right.where("rv > 0"), on={"k": "k"}, within=("-1 minute", "0 seconds"))
    joined.select("k", "v").join("again", joined, on="k", within="1 minute", how="semi").write(
        "s", connect.memory()
    )
    graph = pipeline._plan()
    assert yaml.from_text(yaml.dump(graph)) == graph
    assert [query.name for query in queries_of(graph)] == ["rises", "j", "again"]


def test_mistakes_in_a_document_have_their_position() -> None:
    document = """
name: p
sources:
  a: {memory: {}, schema: "k string, ts timestamp", event_time: ts}
steps:
  j: {from: a, join: {with: c, on: k, within: 1 minute}}
  w: {from: a, join: {with: a, within: 1 minute}}
  o: {from: a, join_as_of: {with: a, on: k, tolerance: 5}}
"""
    with pytest.raises(HeadraceError) as error:
        yaml.from_text(document, file="p.yaml")
    text = str(error.value)
    assert "p.yaml:6:29: unknown source or step `c`" in text
    assert "p.yaml:7:22: `on` of join is missing" in text
    assert "p.yaml:8:" in text
