"""`over`: its options, in Python and in documents, and what is derived from them."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, connect, yaml
from headrace.errors import DocumentError, HeadraceError, OptionError
from headrace.over.declare import Over, OverWindow
from headrace.plan.validation import problems_of
from headrace.streams.results import TimedResult
from headrace.streams.tables import Table
from headrace.streams.timed import TimedKeyedStream

DOCUMENT = """name: p
sources: {tx: {memory: {}, schema: "k string, v int, ts timestamp", event_time: ts}}
steps:
  sums: {from: tx, key_by: k, %s}
"""


def keyed() -> TimedKeyedStream:
    tx = Pipeline("p").read("tx", connect.memory(), schema="k string, v int, ts timestamp")
    return tx.event_time("ts").key_by("k")


@pytest.mark.parametrize(
    ("options", "document"),
    [
        ({"order_by": "ts"}, "over: ts"),
        ({"order_by": "ts", "rows": 2}, "over: {order_by: ts, rows: 2}"),
        ({"order_by": "ts", "rows": "unbounded"}, "over: {order_by: ts, rows: unbounded}"),
        ({"order_by": "ts", "range": "1 hour"}, "over: {order_by: ts, range: 1 hour}"),
        ({"order_by": "v desc", "range": 0.5}, "over: {order_by: v desc, range: 0.5}"),
        ({}, "over: {}"),
    ],
)
def test_a_document_and_a_verb_are_the_same_step(options: dict[str, Any], document: str) -> None:
    stream = keyed().over("sums", **options, total="sum(v)")
    [node] = [node for node in stream._pipeline._graph if isinstance(node, Over)]
    text = DOCUMENT % f"{document}, aggregate: {{total: sum(v)}}"
    [read] = [node for node in yaml.from_text(text) if isinstance(node, Over)]
    assert read.over == node.over
    assert read.state_fields() == node.state_fields()
    assert document in stream._pipeline.to_yaml()


@pytest.mark.parametrize(
    ("order", "form"),
    [
        ("ts", "event_time"),
        ("TS asc, v desc", "event_time"),
        ("ts desc", "table"),
        ("v", "table"),
        (None, "table"),
    ],
)
def test_the_order_decides_whether_results_are_revised(order: str | None, form: str) -> None:
    stream = keyed().over("sums", order_by=order, total="sum(v)")
    facts = stream._pipeline._graph.facts(stream._ref)
    assert type(stream) is (Table if form == "table" else TimedResult)
    assert facts.change == ("table" if form == "table" else "none")
    assert ("change" in (facts.columns or ())) == (form == "table")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rows": 1, "range": 1, "order_by": "v"}, "a frame has either rows or range"),
        ({"rows": 1}, "`rows` needs an order"),
        ({"rows": -1, "order_by": "v"}, "expected a number of rows before the current one"),
        ({"range": True, "order_by": "v"}, "expected a duration, a number that is not negative"),
        ({"range": "1 hour", "order_by": "ts, v"}, "a range with a bound has one order column"),
        ({"order_by": "v", "n": 5}, "expected Spark SQL text or a pyspark Column, got 5"),
    ],
)
def test_an_impossible_frame_is_an_error_of_the_verb(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem.replace("(", r"\(")):
        keyed().over("sums", **{"total": "sum(v)", **options})


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ("over: ts, aggregate: {total: sum(amount)}", "unknown column `amount`"),
        ("over: ts, aggregate: {total: v + 1}", "`total` has no window function"),
        ("over: ts, aggregate: {total: sum(v) over (order by ts)}", "`total` has an OVER clause"),
        ("over: ts, aggregate: {total: ntile(4)}", "ntile needs all rows of the key"),
        ("over: ts, aggregate: {total: 'nth_value(v, 2)'}", "nth_value is not supported"),
        ("over: {order_by: ts, range: 5}, aggregate: {n: count(*)}", "a range over event time is a duration"),
        ("over: amount, aggregate: {n: count(*)}", "unknown column `amount`"),
        ("over: ts, aggregate: {v: count(*)}", "two columns are called `v`"),
        ("over: {order_by: ts, size: 5}, aggregate: {n: count(*)}", "unknown key `size`"),
        ("over: ts", "`over` needs `aggregate` in the same step"),
    ],
)
def test_a_document_with_a_fault_has_position_and_problem(columns: str, problem: str) -> None:
    try:
        problems = problems_of(yaml.from_text(DOCUMENT % columns))
    except DocumentError as error:
        problems = list(error.problems)
    assert any(problem in each.what for each in problems)
    assert all(":4:" in each.where for each in problems)


def test_rows_that_wait_for_later_ones_cannot_feed_a_step_with_time() -> None:
    stream = keyed().over("steps", order_by="ts", behind="lead(v)")
    assert isinstance(stream, TimedResult)
    stream.key_by("k").over("again", order_by="ts", n="count(*)")
    with pytest.raises(HeadraceError, match="the delay of its input `steps` has no bound"):
        stream._pipeline.check()


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        (
            {"order_by": "ts", "rows": 5},
            "the last 5 rows of each k; no bound: grows with the distinct values of k",
        ),
        ({"order_by": "ts", "range": "1 hour"}, "the rows of each k of the last 1 hour"),
        (
            {"order_by": "v"},
            "all rows of each k, with their results; no bound: grows with the rows of its input",
        ),
    ],
)
def test_the_frame_bounds_the_state(options: dict[str, Any], bound: str) -> None:
    stream = keyed().over("sums", **options, total="sum(v)")
    graph = stream._pipeline._graph
    [node] = [node for node in graph if isinstance(node, Over)]
    assert str(node.state_bound(graph)).startswith(bound)


def test_a_frame_is_described_in_words() -> None:
    assert (
        OverWindow.create("v desc", range=5).describe()
        == "each row and those up to 5 before it, ordered by v desc"
    )
    assert OverWindow.create().describe() == "all rows of the key"
    assert OverWindow.create("ts").describe() == "each row and all before it, ordered by ts"
