"""OVER windows in SQL: the steps that they become, and what is refused."""

from __future__ import annotations

import pytest

from headrace import Pipeline, yaml
from headrace.errors import DocumentError, PlanError
from headrace.plan.graph import Graph
from headrace.statements import from_text

SOURCES = """
    CREATE SOURCE bid (auction INT, price INT, ts TIMESTAMP, WATERMARK FOR ts AS ts, at AS PROCTIME())
      WITH (connector = 'memory');
"""
HOUR = "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"


def script(query: str) -> Graph:
    return from_text(f"{SOURCES}CREATE VIEW v AS {query}", name="p")


@pytest.mark.parametrize(
    ("window", "over"),
    [
        ("PARTITION BY auction ORDER BY ts", "over: ts"),
        ("PARTITION BY auction ORDER BY ts ROWS 2 PRECEDING", "over: {order_by: ts, rows: 2}"),
        ("PARTITION BY auction ORDER BY ts ROWS CURRENT ROW", "over: {order_by: ts, rows: 0}"),
        (
            "PARTITION BY auction ORDER BY ts ROWS UNBOUNDED PRECEDING",
            "over: {order_by: ts, rows: unbounded}",
        ),
        (f"PARTITION BY auction ORDER BY ts {HOUR}", "over: {order_by: ts, range: 1 hour}"),
        ("PARTITION BY auction ORDER BY ts, price DESC", "over: ts, price desc"),
        ("PARTITION BY auction ORDER BY price RANGE 5 PRECEDING", "over: {order_by: price, range: 5}"),
        ("PARTITION BY auction ORDER BY price DESC NULLS FIRST", "over: price desc nulls first"),
        ("PARTITION BY auction", "over: {}"),
    ],
)
def test_a_window_and_its_step_are_the_same_plan(window: str, over: str) -> None:
    text = yaml.dump(script(f"SELECT auction, sum(price) OVER ({window}) AS total FROM bid"))
    flat = " ".join(text.split())
    assert over.removeprefix("over: ") in flat
    assert "aggregate: {over1: SUM(price)}" in flat


def test_functions_of_one_window_share_a_step() -> None:
    graph = script(
        "SELECT sum(price) OVER w / count(*) OVER w AS mean, lag(price) OVER (PARTITION BY auction ORDER BY ts) "
        "AS before FROM bid WINDOW w AS (PARTITION BY auction ORDER BY ts ROWS 9 PRECEDING)"
    )
    steps = [node for node in graph if node.verb == "over"]
    assert [[name for name, _ in node.aggregates] for node in steps] == [["over1", "over2", "over3"]]  # type: ignore[attr-defined]


def test_different_windows_are_steps_one_after_the_other_and_tables_are_last() -> None:
    graph = script(
        "SELECT rank() OVER (ORDER BY price) AS place, sum(price) OVER (ORDER BY ts) AS total, "
        "lead(price) OVER (PARTITION BY auction ORDER BY ts) AS behind FROM bid"
    )
    steps = [node for node in graph if node.verb == "over"]
    calls = [[call for _, call in node.aggregates] for node in steps]  # type: ignore[attr-defined]
    assert calls == [["SUM(price)"], ["LEAD(price)"], ["RANK()"]]
    assert graph.facts(steps[1].inputs[0]).change == "none"
    assert [graph.facts(node.inputs[0]).timed for node in steps] == [True, True, True]


def test_processing_time_is_the_order_of_arrival() -> None:
    text = yaml.dump(
        script("SELECT sum(price) OVER (PARTITION BY auction ORDER BY at ROWS 2 PRECEDING) AS s FROM bid")
    )
    assert "processing_time: true" in text
    assert "order_by: processing_time" in text


def test_late_rows_of_a_view_with_over_are_a_relation() -> None:
    graph = from_text(
        f"{SOURCES}CREATE VIEW v AS SELECT auction, sum(price) OVER (ORDER BY ts) AS s FROM bid;"
        "CREATE VIEW w AS SELECT * FROM v.late",
        name="p",
    )
    assert any(str(ref).endswith(".late") for node in graph for ref in node.inputs)


def test_over_of_over_is_refused() -> None:
    text = "SELECT sum(price) OVER (ORDER BY ts) OVER (ORDER BY ts) AS s FROM bid"
    with pytest.raises(PlanError, match="has an OVER clause"):
        Pipeline.from_sql_text(f"{SOURCES}CREATE VIEW v AS {text}", file="p.sql").check()


@pytest.mark.parametrize(
    ("query", "problem", "hint"),
    [
        (
            "SELECT sum(price) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM bid",
            "this frame is not supported",
            "a frame ends with the current row",
        ),
        (
            "SELECT sum(price) OVER (ORDER BY ts RANGE BETWEEN CURRENT ROW AND INTERVAL '1' HOUR FOLLOWING) FROM bid",
            "this frame is not supported",
            "LEAD reads later rows",
        ),
        (
            "SELECT sum(price) OVER (ORDER BY ts RANGE 5 PRECEDING) FROM bid",
            "a range over event time is an interval",
            "INTERVAL '1' HOUR",
        ),
        (
            "SELECT sum(price) OVER (ORDER BY ts RANGE INTERVAL '1' MONTH PRECEDING) FROM bid",
            "expected an interval, got `INTERVAL '1' MONTH`",
            "such as INTERVAL '1' HOUR",
        ),
        ("SELECT sum(price) OVER w FROM bid", "unknown window `w`", "the windows of the query: none"),
        ("SELECT lag(price) OVER (PARTITION BY auction) FROM bid", "LAG needs ORDER BY", "ORDER BY ts"),
        (
            "SELECT lag(price) IGNORE NULLS OVER (ORDER BY ts) FROM bid",
            "LAG with IGNORE NULLS is not supported",
            "filter the rows",
        ),
        (
            "SELECT ntile(4) OVER (ORDER BY ts) FROM bid",
            "NTILE needs all rows of the partition, which a stream never has",
            "ROW_NUMBER()",
        ),
        (
            "SELECT auction, sum(count(*)) OVER (ORDER BY auction) FROM bid GROUP BY auction",
            "OVER windows and GROUP BY in one query are not supported",
            "put the query with GROUP BY in a subquery",
        ),
        (
            "SELECT sum(price) OVER (ORDER BY at DESC) FROM bid",
            "processing time is the order of arrival",
            "ascending",
        ),
        ("SELECT sum(price) OVER (ROWS 2 PRECEDING) FROM bid", "a frame needs ORDER BY", "ORDER BY ts"),
        (
            "SELECT sum(price) OVER (ORDER BY price ROWS price PRECEDING) FROM bid",
            "expected a number of rows, got `price`",
            "ROWS 2 PRECEDING",
        ),
        (
            "SELECT sum(price) OVER (ORDER BY ts) FROM bid EMIT ON WINDOW CLOSE LATENESS INTERVAL '1' HOUR",
            "EMIT needs a window to fire",
            "remove it",
        ),
    ],
)
def test_what_has_no_step_is_refused_with_a_rewrite(query: str, problem: str, hint: str) -> None:
    with pytest.raises(DocumentError) as caught:
        script(query)
    [fault] = caught.value.problems
    assert problem in fault.what
    assert hint in fault.hint
    assert fault.where.count(":") == 2
