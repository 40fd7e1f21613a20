"""`sql` steps of documents: one step in Spark SQL, or the steps of a view of a script."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect
from headrace.errors import DocumentError, OptionError

DOCUMENT = """
name: bids
sources:
  bid: {{memory: {{}}, schema: "auction bigint, price int, ts timestamp", event_time: ts}}
steps:
  totals: {{from: bid, key_by: auction, aggregate: {{n: count(*)}}}}
  q: {{{}sql: "{}"}}
  after: {{from: q, where: "auction > 1"}}
"""
HIGHEST = (
    "select auction, window_start, max(price) as price from tumble(table bid, descriptor(ts), interval '1' minute) "
    "group by auction, window_start, window_end"
)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("select auction from bid where price > 1", "sql: select auction from bid"),
        (HIGHEST, "window: {tumbling: 1 minute}"),
        ("select auction, count(distinct price) as n from bid group by auction", "aggregate: {n: COUNT(DISTINCT price)}"),
        ("select b.auction, n from bid b join totals t on b.auction = t.auction", "at: live"),
        ("select AUCTION from bid limit 2", "top_n: {n: 2"),
    ],
)  # fmt: skip
def test_a_query_is_one_step_of_spark_or_the_steps_of_a_view(query: str, text: str) -> None:
    pipeline = Pipeline.from_yaml_text(DOCUMENT.format("", query))
    pipeline.check()
    assert text in pipeline.to_yaml()
    assert Pipeline.from_yaml_text(pipeline.to_yaml()).to_yaml() == pipeline.to_yaml()


def test_this_is_the_stream_of_from() -> None:
    text = Pipeline.from_yaml_text(
        DOCUMENT.format("from: bid, ", "select auction from this order by price limit 3")
    )
    assert "q:top_n: {from: bid" in text.to_yaml()


def test_python_and_documents_have_the_same_steps() -> None:
    pipeline = Pipeline("bids")
    bid = pipeline.read("bid", connect.memory(), schema="auction bigint, price int, ts timestamp")
    bid.event_time("ts")
    totals = bid.key_by("auction").aggregate("totals", n="count(*)")
    assert totals
    pipeline.sql("q", HIGHEST).where("auction > 1", step_name="after")
    document = Pipeline.from_yaml_text(DOCUMENT.format("", HIGHEST))
    assert pipeline._graph["q"] == document._graph["q"]


def test_a_query_of_stream_sql_is_refused_at_its_place_with_line_and_column() -> None:
    with pytest.raises(DocumentError, match=r"<text>:7:12: unknown column `crad`, at line 1, column 17"):
        Pipeline.from_yaml_text(DOCUMENT.format("", HIGHEST.replace("window_start, max", "crad, max", 1)))


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("create view v as select * from bid", "`q`:1:1: a sql step is one query, not CREATE"),
        ("select auction into results from bid", "`q`:1:16: a sql step writes no table"),
        ("select 1 from bid; select 2 from bid", "expected one query, got 2 statements"),
        ("select * from hop(table bid, descriptor(ts))", "expected 2 durations in HOP, got 0"),
    ],
)
def test_statements_are_not_queries(query: str, problem: str) -> None:
    pipeline = Pipeline("bids")
    pipeline.read("bid", connect.memory(), schema="auction bigint, ts timestamp").event_time("ts")
    with pytest.raises(OptionError) as error:
        pipeline.sql("q", query)
    assert problem in str(error.value)
