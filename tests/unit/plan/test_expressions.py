"""Mistakes inside expressions are plan errors, without a JVM."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect, patterns, windows
from headrace.errors import PlanError
from headrace.streams.timed import TimedStream


def payments() -> tuple[Pipeline, TimedStream]:
    pipeline = Pipeline("p")
    source = pipeline.read("tx", connect.memory(), schema="card string, amount double, ts timestamp")
    return pipeline, source.event_time("ts")


def problems(pipeline: Pipeline) -> list[str]:
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    return [problem.what for problem in caught.value.problems]


def test_unknown_column_of_a_filter() -> None:
    pipeline, tx = payments()
    tx.where("amout > 1", step_name="big").write("out", connect.memory())
    assert problems(pipeline) == ["unknown column `amout`"]


def test_unknown_function_and_unbalanced_parentheses_are_reported_together() -> None:
    pipeline, tx = payments()
    rows = tx.with_columns(a="summ(amount)").select("card", "(a + 1 as b")
    rows.write("out", connect.memory())
    first, second = problems(pipeline)
    assert first == "unknown function `summ`"
    assert second.startswith("syntax error in `(a + 1 as b`")


def test_columns_can_refer_to_new_names_of_the_same_step() -> None:
    pipeline, tx = payments()
    tx.select("card", "amount * 2 as twice", "twice + 1 as more").write("out", connect.memory())
    assert pipeline._plan()


def test_column_outside_of_an_aggregate() -> None:
    pipeline, tx = payments()
    panes = tx.key_by("card").window(windows.tumbling("1 minute")).aggregate("w", a="amount")
    panes.write("out", connect.memory())
    assert problems(pipeline) == ["`amount` is neither a key nor inside an aggregate function"]


def test_condition_of_a_window() -> None:
    pipeline, tx = payments()
    panes = tx.key_by("card").window(windows.punctuation("knd = 'end'")).aggregate("w", n="count(*)")
    panes.write("out", connect.memory())
    assert problems(pipeline) == ["unknown column `knd`"]


def test_mistakes_in_conditions_and_measures_of_a_pattern() -> None:
    pipeline, tx = payments()
    pattern = patterns.step("small", "amout < 1").followed_by("large", "amount > summ(small.amount)")
    hits = tx.key_by("card").match("hits", pattern, within="1 minute", select={"a": "(large.amount"})
    hits.write("out", connect.memory())
    first, second, third = problems(pipeline)
    assert first == "the condition of `small`: unknown column `amout`"
    assert second == "the condition of `large`: unknown function `summ`"
    assert third.startswith("the measure `a`: syntax error")


def test_unknown_function_of_a_query() -> None:
    pipeline, _ = payments()
    pipeline.sql("report", "with t(a) as (select summ(amount) from tx) select a from t").write(
        "out", connect.memory()
    )
    assert problems(pipeline) == ["unknown function `summ`"]
