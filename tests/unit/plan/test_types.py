"""Text that is used as a number is a warning at its place, derived without a JVM."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, SourceStream, connect, windows, yaml
from headrace.plan.graph import Graph
from headrace.plan.types import ColumnTypes
from headrace.plan.warnings import warnings_of
from headrace.sql.types import check_query_types, check_types
from headrace.steps.base import Ref

SCHEMA = "kind string, amount int, price decimal(10,2), tags array<string>, ts timestamp"


@pytest.fixture
def tx() -> SourceStream:
    return Pipeline("p").read("tx", connect.memory(), schema=SCHEMA)


def graph_of(stream: Any) -> Graph:
    stream.write("out", connect.memory())
    graph: Graph = stream._pipeline._plan()
    return graph


def problems(stream: Any) -> list[str]:
    return [warning.what for warning in warnings_of(graph_of(stream))]


@pytest.mark.parametrize(
    "condition",
    [
        "amount > '5'",
        "cast(kind as int) > 5",
        "try_cast(kind as double) > 5",
        "length(kind) > 5",
        "kind > '5'",
        "ts > '2026-01-01'",
        "own_function(kind) > 5",
        "exists(tags, kind -> kind > 5)",
        "price > 5",
        "amount > kind.length",
    ],
)
def test_no_fault_where_spark_casts_no_column_or_the_type_is_unknown(
    condition: str, tx: SourceStream
) -> None:
    types = ColumnTypes(graph_of(tx)).of(Ref("tx"))
    assert (types["kind"], types["price"]) == ("string", "decimal(10,2)")
    assert list(check_types(condition, types)) == []


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("kind > 5", "kind"),
        ("5 <= KIND", "KIND"),
        ("upper(kind) = amount", "UPPER(kind)"),
        ("amount > 1 and kind <> price", "kind"),
    ],
)
def test_text_that_is_compared_with_a_number(condition: str, text: str, tx: SourceStream) -> None:
    assert problems(tx.where(condition)) == [f"`{text}` is text and is compared with a number"]


def test_types_flow_through_computed_columns_and_windows(tx: SourceStream) -> None:
    computed = tx.with_columns(tail="substr(kind, 2)", size="length(kind)").event_time("ts").key_by("tail")
    panes = computed.window(windows.tumbling("1 minute")).aggregate("sums", top="max(tail)", n="sum(size)")
    assert problems(panes.where("top > 5 and n > 5 and tail = 3")) == [
        "`top` is text and is compared with a number",
        "`tail` is text and is compared with a number",
    ]


def test_aggregates_of_text(tx: SourceStream) -> None:
    sums = (
        tx.select("kind as word", "amount").key_by("amount").aggregate("sums", s="sum(word)", m="max(word)")
    )
    assert problems(sums.where("s > 1")) == ["`sum` adds `word`, which is text"]


def test_keys_of_different_types() -> None:
    pipeline = Pipeline("p")
    left, right = (
        pipeline.read(name, connect.memory(), schema=f"id {kind}, ts timestamp").event_time("ts")
        for name, kind in (("clicks", "string"), ("views", "bigint"))
    )
    joined = left.join("both", right, on="id", within="1 minute", select={"id": "left.id"})
    assert problems(joined) == ["the key `id` is string on the left, and `id` is bigint on the right"]


@pytest.mark.parametrize("expression", ["amount + array(1)", "tags * 2", "amount - map('a', 1)"])
def test_arithmetic_with_lists_and_mappings(expression: str, tx: SourceStream) -> None:
    [problem] = problems(tx.with_columns(z=expression))
    assert "needs a number" in problem


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select kind, sum(kind) s from tx group by kind", "`sum` adds `kind`, which is text"),
        ("select t.amount from tx t where t.kind > 5", "`t.kind` is text and is compared with a number"),
        (
            "select tx.amount from tx join ids on tx.kind = ids.id",
            "`tx.kind` is text and is compared with a number",
        ),
    ],
)
def test_text_in_queries(query: str, expected: str) -> None:
    tables = {"tx": {"kind": "string", "amount": "int"}, "ids": {"id": "int"}}
    assert [fault.problem for fault in check_query_types(query, tables)] == [expected]


@pytest.mark.parametrize(
    "query",
    [
        "select kind from tx join other on tx.amount = other.amount where kind > 5",
        "with tx as (select 1 kind) select kind from tx where kind > 5",
        "select kind from tx where exists(tags, kind -> kind > 5)",
        "select tx.kind.size from tx where tx.kind.size > 5",
    ],
)
def test_no_fault_in_queries_whose_names_are_not_clear(query: str) -> None:
    tables = {"tx": {"kind": "string", "amount": "int", "tags": "array<string>"}, "other": {}}
    assert list(check_query_types(query, tables)) == []


def test_place_of_a_fault_of_a_query_is_in_the_query() -> None:
    document = """\
name: p
sources:
  tx: {memory: {}, schema: "kind string, amount int"}
steps:
  big: {sql: select amount from tx where kind > 5}
sinks:
  out: {from: big, memory: {}}
"""
    [warning] = warnings_of(yaml.from_text(document, file="p.yaml"))
    assert str(warning).startswith("p.yaml:5:42: `big`: `kind` is text and is compared with a number")


def test_place_is_the_line_and_character_of_the_document() -> None:
    document = """\
name: p
sources:
  tx: {memory: {}, schema: "kind string, amount int"}
steps:
  big: {from: tx, where: amount > 1 and kind > 5}
sinks:
  out: {from: big, memory: {}}
"""
    [warning] = warnings_of(yaml.from_text(document, file="p.yaml"))
    assert str(warning) == (
        "p.yaml:5:41: `big`: `kind` is text and is compared with a number\n"
        "  hint: Spark casts it, and fails at text that is no number; write try_cast(kind as double)"
    )
