"""The changes of a CDC source before Spark: the steps that read them, and those that need a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, SourceStream, connect, patterns, windows, yaml
from headrace.errors import PlanError
from headrace.steps.base import Ref

SCHEMA = "item string, price int, at timestamp"
URL = "postgresql://localhost/shop"


def prices_of(pipeline: Pipeline) -> SourceStream:
    return pipeline.read("prices", connect.postgres_cdc(url=URL, table="prices"), schema=SCHEMA)


def sales_of(pipeline: Pipeline) -> SourceStream:
    return pipeline.read("sales", connect.memory(), schema="id int, item string, ts timestamp")


def test_latest_of_a_cdc_source_is_the_same_plan_in_python_and_in_a_document() -> None:
    pipeline = Pipeline("p")
    current = prices_of(pipeline).key_by("item").latest("current")
    current.key_by("price").aggregate("counts", n="count(*)").write("out", connect.memory(key=["price"]))
    graph = pipeline._plan()
    document = f"""
name: p
sources:
  prices: {{postgres_cdc: {{url: "{URL}", table: prices}}, schema: "{SCHEMA}"}}
steps:
  current: {{from: prices, key_by: item, latest: {{}}}}
  counts: {{from: current, key_by: price, aggregate: {{n: count(*)}}}}
sinks:
  out: {{from: counts, memory: {{key: [price]}}}}
"""
    assert yaml.from_text(document) == graph
    facts = graph.facts(Ref("current"))
    assert (facts.change, facts.cdc, facts.columns) == ("table", False, ("item", "price", "at", "change"))


PATTERN = patterns.step("a", "price > 1").followed_by("b", "price > 2")

AS_ROWS: dict[str, tuple[Callable[[SourceStream], Any], str]] = {
    "a running aggregate": (lambda cdc: cdc.key_by("price").aggregate("x", n="count(*)"), "aggregate"),
    "an aggregate of all rows": (
        lambda cdc: cdc.where("price > 1").aggregate("x", n="count(*)"),
        "aggregate",
    ),
    "top_n": (lambda cdc: cdc.key_by("price").top_n("x", n=1, order_by="at"), "top_n"),
    "a window": (
        lambda cdc: cdc.event_time("at").window(windows.tumbling("1 hour")).aggregate("x", n="count(*)"),
        "window",
    ),
    "match": (lambda cdc: cdc.event_time("at").key_by("item").match("x", PATTERN, within="1 hour"), "match"),
    "distinct": (lambda cdc: cdc.distinct("x", on="item"), "distinct"),
    "stateful_map": (
        lambda cdc: cdc.key_by("item").stateful_map("x", lambda s, _: (s, None), initial=0, output="n int"),
        "process",
    ),
    "sql with a group": (
        lambda cdc: cdc.sql("x", "select price, count(*) as n from this group by price"),
        "aggregate",
    ),
    "the left side of a join with a table": (
        lambda cdc: cdc.join_table("x", cdc.key_by("item").latest("t").drop("price", "at"), on="item"),
        "join",
    ),
    "the left side of a join with itself": (
        lambda cdc: cdc.join_table("x", cdc, on="item", select={"price": "right.price"}),
        "join",
    ),
    "a join of streams": (
        lambda cdc: (
            sales_of(cdc._pipeline)
            .event_time("ts")
            .join("x", cdc.event_time("at"), on="item", within="1 hour")
        ),
        "join",
    ),
}


@pytest.mark.parametrize(("build", "verb"), AS_ROWS.values(), ids=AS_ROWS.keys())
def test_a_stateful_step_does_not_read_changes_as_rows(
    build: Callable[[SourceStream], Any], verb: str
) -> None:
    pipeline = Pipeline("p")
    build(prices_of(pipeline))
    with pytest.raises(PlanError) as error:
        pipeline.check()
    [problem] = error.value.problems
    assert problem.what == f"{verb} reads the changes of a CDC source, `prices`"
    assert problem.hint == (
        "make it a table first, with key_by(<its key>).latest(...); to process the changes as rows, "
        'select their fields without the column `change`, such as select("id", op="change.op")'
    )


@pytest.mark.parametrize(
    "rows",
    [
        lambda cdc: cdc.select("item", "price", op="change.op"),
        lambda cdc: cdc.select("item", "price", "change.op as change"),
        lambda cdc: cdc.select("* except (change)"),
        lambda cdc: cdc.drop("Change"),
        lambda cdc: cdc.with_columns(change="change.op"),
        lambda cdc: cdc.map("m", lambda row: {"price": row.price}, output="price int"),
    ],
)
def test_rows_without_the_column_change_are_a_stream(rows: Callable[[SourceStream], Any]) -> None:
    pipeline = Pipeline("p")
    rows(prices_of(pipeline)).key_by("price").aggregate("x", n="count(*)")
    pipeline.check()


@pytest.mark.parametrize(
    "changes",
    [
        lambda cdc: cdc.select("item", "price", "change"),
        lambda cdc: cdc.select("*", double="price * 2"),
        lambda cdc: cdc.drop("at").where("item is not null").with_columns(double="price * 2"),
        lambda cdc: cdc.route("r", all="true").all,
    ],
)
def test_rows_with_the_column_change_stay_changes(changes: Callable[[SourceStream], Any]) -> None:
    pipeline = Pipeline("p")
    read = changes(prices_of(pipeline))
    sales_of(pipeline).join_table("priced", read, on="item", select={"price": "right.price"})
    read.key_by("item").latest("current")
    graph = pipeline._plan()
    assert graph.facts(Ref("current")).change == "table"


def test_a_union_does_not_mix_changes_and_rows() -> None:
    pipeline = Pipeline("p")
    prices_of(pipeline).union(sales_of(pipeline), step_name="all")
    expected = "all inputs of a union must be tables, or none: `prices` is a CDC source, `sales` is a stream"
    with pytest.raises(PlanError, match=expected):
        pipeline.check()


def test_changes_without_the_column_change_are_no_table_for_a_join() -> None:
    pipeline = Pipeline("p")
    sales_of(pipeline).join_table("priced", prices_of(pipeline).drop("change"), on="item")
    with pytest.raises(PlanError, match="expected a table on the right, but `prices` is a stream"):
        pipeline.check()


def test_a_live_join_takes_the_changes_of_a_database_on_the_right_only() -> None:
    pipeline = Pipeline("p")
    prices_of(pipeline).join_table("priced", sales_of(pipeline), on="item", at="live")
    with pytest.raises(
        PlanError, match="has the changes of a database, which a live join takes on the right"
    ):
        pipeline.check()
