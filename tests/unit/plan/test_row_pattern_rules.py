"""Plan checks of queries with `MATCH_RECOGNIZE`, before Spark."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect, windows
from headrace.errors import OptionError, PlanError
from headrace.plan.queries import queries_of
from headrace.plan.warnings import warnings_of
from headrace.steps.base import Ref
from headrace.steps.patterns.match_recognize import RowPattern

SCHEMA = "symbol string, price double, ts timestamp"
FALLS = """select m.symbol, m.low from ticks match_recognize (
  partition by symbol order by ts measures last(down.price) as low
  pattern (down{3,}) define down as down.price < prev(down.price)) as m"""


def stocks(query: str, *, timed: bool = True) -> Pipeline:
    pipeline = Pipeline("stocks")
    ticks = pipeline.read("ticks", connect.memory(), schema=SCHEMA)
    if timed:
        ticks.event_time("ts")
    pipeline.sql("falls", query).write("out", connect.memory())
    return pipeline


def problem(query: str, *, timed: bool = True) -> str:
    with pytest.raises(PlanError) as caught:
        stocks(query, timed=timed).check()
    return str(caught.value)


def test_the_source_is_matched_with_the_time_it_was_given() -> None:
    plan = stocks(FALLS)._plan()
    falls = plan["falls"]
    assert isinstance(falls, RowPattern)
    assert (falls.input, falls.outputs) == (Ref("ticks:event_time"), ("", "late"))
    assert [query.name for query in queries_of(plan)] == ["falls"]


def test_a_stream_is_matched_under_the_name_this() -> None:
    pipeline = Pipeline("p")
    timed = pipeline.read("ticks", connect.memory(), schema=SCHEMA).event_time("ts").where("price > 0")
    matches = timed.sql("falls", FALLS.replace("from ticks", "from this"))
    assert str(matches.late) == "<falls.late of p>"
    matches.write("out", connect.memory())
    assert pipeline._plan()["falls"].inputs == (Ref("ticks:where"),)


def test_only_a_row_pattern_has_late_rows() -> None:
    pipeline = Pipeline("p")
    pipeline.read("ticks", connect.memory(), schema=SCHEMA)
    with pytest.raises(OptionError, match="only a query with MATCH_RECOGNIZE has late rows"):
        _ = pipeline.sql("high", "select * from ticks where price > 3").late


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (FALLS.replace("order by ts", "order by price"),
         "ORDER BY price at line 2, column 32: rows are matched in the order of their event time, "
         "`ts`", "write ORDER BY ts"),
        (FALLS.replace("order by ts", "order by ts desc"), "a stream is in ascending order of time", "write ORDER BY ts"),
        (FALLS.replace("order by ts", "order by ts, abs(price)"), "ORDER BY abs(price) at line 2, column 36: "
                                                                  "expected a column", "with_columns"),
        (FALLS.replace("order by ts", "order by ts, prise"), "unknown ORDER BY column `prise`", "`price`"),
        (FALLS.replace("by symbol", "by symbl"), "unknown PARTITION BY column `symbl`", "`symbol`"),
        (FALLS.replace("as low", "as symbol"), "the measure `symbol` has the name of a column", "rename"),
        (FALLS.replace("prev(down.price)", "prev(dwn.price)"),
         "at line 3, column 55: unknown pattern variable `DWN`", "did you mean `DOWN`?"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_stream_is_a_problem_of_the_plan(query: str, message: str, hint: str) -> None:
    text = problem(query)
    assert message in text
    assert hint in text


def test_each_column_before_the_clause_has_one_name() -> None:
    query = "select * from (select symbol, ts from ticks) t(a) match_recognize (measures last(ts) as l pattern (A))"
    assert "expected 2 column names before MATCH_RECOGNIZE, got 1" in problem(query)


def test_what_groups_rows_before_the_clause_is_a_step_of_its_own() -> None:
    query = (
        "select * from (select max(ts) as ts from ticks) match_recognize (measures last(ts) as l pattern (A))"
    )
    with pytest.raises(
        OptionError, match="the input of MATCH_RECOGNIZE can only select columns and rows; this one groups"
    ):
        stocks(query)


def test_by_the_clock_no_column_orders_rows_of_equal_time() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("t", connect.memory(), schema="id int").processing_time()
    query = (
        "select * from this match_recognize (order by processing_time, id measures last(id) as l pattern (A))"
    )
    rows.sql("m", query).write("out", connect.memory())
    with pytest.raises(
        PlanError,
        match=r"ORDER BY id at line 1, column 63: with the clock as time, rows are matched in arrival order",
    ):
        pipeline.check()


def test_the_column_that_time_is_made_of_orders_rows_too() -> None:
    pipeline = Pipeline("p")
    rows = pipeline.read("t", connect.memory(), schema="id int, v int")
    timed = rows.with_columns(ts="timestamp_seconds(id)").event_time("ts")
    query = "select * from this match_recognize (order by {} measures last(v) as l pattern (A))"
    timed.sql("m", query.format("id")).write("out", connect.memory())
    pipeline.check()
    timed.sql("n", query.format("v")).write("more", connect.memory())
    with pytest.raises(PlanError, match=r"ORDER BY v at .* in the order of their event time, `ts`"):
        pipeline.check()


@pytest.mark.parametrize(
    ("clause", "grows"),
    [
        ("measures last(A.price) as p pattern (A B)", ""),
        ("measures match_number() as n pattern (A B)", "the distinct values of symbol"),
        ("pattern (A B) define B as B.price < prev(B.price)", "the distinct values of symbol"),
        ("pattern (^ A)", "the distinct values of symbol"),
        ("pattern (A+)", "the rows of a match that does not end"),
        ("pattern (A+) within '1 hour'", ""),
    ],
)
def test_what_a_step_remembers_without_a_bound_is_reported(clause: str, grows: str) -> None:
    plan = stocks(f"select * from ticks match_recognize (partition by symbol {clause})")._plan()
    bound = plan["falls"].state_bound(plan)
    assert bound is not None
    assert bound.grows == grows


def test_rows_need_time() -> None:
    assert "match_recognize needs rows with time" in problem(FALLS, timed=False)


def test_panes_are_matched_in_their_own_order() -> None:
    pipeline = Pipeline("p")
    ticks = pipeline.read("ticks", connect.memory(), schema=SCHEMA).event_time("ts")
    panes = ticks.key_by("symbol").window(windows.tumbling("1 minute")).aggregate("low", low="min(price)")
    query = "select * from low match_recognize (partition by symbol {} measures last(low) as l pattern (A))"
    panes.sql("ordered", query.format("")).write("out", connect.memory())
    pipeline.check()
    panes.sql("other", query.format("order by window")).write("more", connect.memory())
    with pytest.raises(PlanError, match="the time of these rows is not a column"):
        pipeline.check()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (FALLS + ", other", "unknown source or view `other`"),
        (FALLS + " where m.low in (select x from other)", "unknown source or view `other`"),
    ],
)
def test_around_the_clause_tables_are_known(query: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        stocks(query)


def test_around_the_clause_other_steps_take_the_matches() -> None:
    pipeline = stocks(FALLS.replace("m.symbol, m.low", "count(*)"))
    assert [type(node).__name__ for node in pipeline._plan()][-3:-1] == ["RowPattern", "Aggregate"]


def test_a_match_without_an_end_produces_a_warning() -> None:
    message = [str(warning) for warning in warnings_of(stocks(FALLS)._plan())]
    assert any("the length of a match has no bound" in text and "WITHIN INTERVAL" in text for text in message)
    bounded = FALLS.replace("(down{3,})", "(down{3,}) within interval '1' hour")
    assert warnings_of(stocks(bounded)._plan()) == []


def test_explain_states_what_is_kept() -> None:
    shown = stocks(FALLS).explain(width=160)
    assert "the rows of each symbol of the open match" in shown
    assert "Spark has no MATCH_RECOGNIZE" in shown


def test_a_document_has_the_same_plan() -> None:
    pipeline = stocks(FALLS)
    text = pipeline.to_yaml()
    assert "match_recognize" in text
    assert Pipeline.from_yaml_text(text)._graph == pipeline._graph


def test_a_document_shows_the_place_in_the_query() -> None:
    text = stocks(FALLS).to_yaml().replace("pattern (down", "patern (down")
    with pytest.raises(
        Exception, match=r"line 3, column 3: expected a part of MATCH_RECOGNIZE, got `patern`"
    ):
        Pipeline.from_yaml_text(text)
