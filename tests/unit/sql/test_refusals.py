"""Forms of SQL that a step refuses, with their places and the steps to use."""

from __future__ import annotations

import pytest

from headrace.errors import OptionError
from headrace.sql.facts import shape_of
from headrace.sql.foreign import foreign_forms
from headrace.sql.functions import spark_functions
from headrace.sql.refusals import refused_forms

RANKS = {"cume_dist", "dense_rank", "lag", "lead", "nth_value", "ntile", "percent_rank", "rank"}
"""Functions of OVER, which is refused."""


@pytest.mark.parametrize(
    ("query", "problem", "hint"),
    [
        ("select id from tx limit 2", "LIMIT at line 1, column 19: each micro-batch would have", "top_n"),
        ("select id\nfrom tx offset 2", "OFFSET at line 2, column 9: each micro-batch would", "top_n"),
        ("select id from tx fetch first 2 rows only", "FETCH at line 1, column 19: each", "top_n"),
        ("select id from tx tablesample (5 rows)", "TABLESAMPLE at line 1, column 19: each", "where("),
        ("select id from tx order by ts", "ORDER BY at line 1, column 19: a stream has no end", "top_n"),
        ("select id from tx sort by ts", "SORT BY at line 1, column 19: a stream has no end", "top_n"),
        ("select id from tx distribute by ts", "DISTRIBUTE BY at line 1, column 19: a stream", "top_n"),
        ("select id from tx cluster by ts", "CLUSTER BY at line 1, column 19: a stream has no", "top_n"),
        ("select a from x union select a from y", "UNION at line 1, column 17: each", "distinct(on="),
        ("select a from x except select a from y", "EXCEPT at line 1, column 17: each", 'how="anti"'),
        ("select a from x intersect select a from y", "INTERSECT at line 1, column 17", 'how="semi"'),
        ("select distinct a from x", "SELECT DISTINCT at line 1, column 1: each", "distinct(on="),
        ("select rank() over (order by a) from x", "OVER at line 1, column 15: Spark has no OVER", "top_n"),
        ("select lag(a) over (order by t) from x", "OVER at line 1, column 15", "stateful_map"),
        ("select sum(a) over (order by t) from x", "OVER at line 1, column 15", "windows.trailing"),
        ("select a from x where a in (select b from y)", "IN at line 1, column 25: a subquery", 'how="semi"'),
        ("select a from x where a not in (select b from y)", "NOT IN at line 1, column 25", 'how="anti"'),
        ("select a from x where exists (select 1 from y)", "EXISTS at line 1, column 23", 'how="semi"'),
        ("select a from x where not exists (select 1 from y)", "NOT EXISTS at line 1", 'how="anti"'),
        ("select a from x where a > (select max(b) from y)", "the subquery at line 1, column 28", "window("),
        ("select a, (select max(b) from y) as m from x", "the subquery at line 1, column 12", "window("),
        ("select * from x, lateral (select a from y) z", "LATERAL at line 1, column 18", "lookup("),
        ("select * from x for system_time as of t", "FOR SYSTEM_TIME at line 1, column 17", "join_as_of"),
        ("select * from x cross join unnest(a) as t(b)", "Spark SQL has no UNNEST at", "lateral view"),
        ("select * from x pivot (sum(a) for b in (1, 2))", "PIVOT at line 1, column 17", "aggregate("),
        ("with recursive c as (select a from x) select a from c", "WITH RECURSIVE at line 1", "process("),
        ("select session_window(t, '1 minute') from x", "SESSION_WINDOW at line 1, column 8", "group by"),
        ("select * from x right join (values (1)) v(a) on x.a = v.a", "RIGHT JOIN at line 1", "LEFT JOIN"),
    ],
)
def test_a_form_is_refused_with_its_place_and_the_steps_to_use(query: str, problem: str, hint: str) -> None:
    faults = list(refused_forms(query, shape_of(query)))
    assert len(faults) == 1, faults
    assert problem in faults[0].problem
    assert hint in faults[0].hint


@pytest.mark.parametrize(
    "query",
    [
        "select a, upper(b) from x where a like any ('x', 'y') or exists(c, e -> e > 1)",
        "with c as (select a from x) select a from c union all select a from (select a from y)",
        "select a, e from x lateral view explode(b) t as e",
        "select x.a from x join (values (1, 'one')) v(a, name) on x.a = v.a",
    ],
)
def test_a_form_that_is_right_over_streams_is_not_refused(query: str) -> None:
    assert list(refused_forms(query, shape_of(query))) == []
    assert list(foreign_forms(query)) == []


@pytest.mark.parametrize(
    ("query", "problem", "hint"),
    [
        ("create view v as select 1", "a sql step is one query, not CREATE VIEW at line 1, column 1", "step"),
        ("create table t as select 1", "a sql step is one query, not CREATE TABLE ... AS", "sql step"),
        ("create table t (id int)", "a sql step is one query, not CREATE at", "read(...)"),
        ("insert into t select a from x", "a sql step is one query, not INSERT at", "write("),
        ("explain select a from x", "a sql step is one query, not EXPLAIN at", "headrace explain"),
        (
            "select a into t from x",
            "a sql step writes no table, but INTO at line 1, column 10 does",
            "write(",
        ),
        ("select * from x partition by a", "Spark SQL has no PARTITION BY outside of OVER", "key_by"),
        ("select 1 from x group by tumble(t, interval 1 second)", "no TUMBLE, as at line 1", "tumbling"),
        ("select 1 from x group by hop(t, 1, 2)", "Spark SQL has no HOP, as at", "windows.sliding"),
        ("select 1 from x group by session(t, 1)", "Spark SQL has no SESSION, as at", "windows.session"),
        ("select 1 from table(cumulate(table x))", "Spark SQL has no CUMULATE, as at", "windows.landmark"),
        ("select 1 from x group by slidingwindow(second, 1)", "no SLIDINGWINDOW, as at", "windows.trailing"),
        ("select 1 from x group by system.timestamp()", "SYSTEM . TIMESTAMP, as at", "processing_time"),
        ("select topk(a, 2) from x", "Spark SQL has no TOPK, as at line 1, column 8", "top_n"),
        ("select latest_by_offset(a) from x", "Spark SQL has no LATEST_BY_OFFSET, as at", "latest("),
        ("select earliest_by_offset(a) from x", "no EARLIEST_BY_OFFSET, as at", "distinct(on="),
        ("select proctime() from x", "Spark SQL has no PROCTIME, as at", "lookup("),
        (
            "select 1 from x join y s within 1 hour on x.a = s.a",
            "no WITHIN, as at line 1",
            "join(..., within=",
        ),
        ("select lag(a) over (limit duration(hour, 1)) from x", "no LIMIT DURATION, as at", "stateful_map"),
        ("select a from x timestamp by t", "Spark SQL has no TIMESTAMP BY, as at", "event_time("),
        ("select a from x emit changes", "Spark SQL has no EMIT CHANGES, as at", "aggregate("),
        ("select a from x emit final", "Spark SQL has no EMIT FINAL, as at", "emit(early=...)"),
    ],
)
def test_sql_of_other_engines_is_refused_with_the_steps_to_use(query: str, problem: str, hint: str) -> None:
    faults = list(foreign_forms(query))
    assert len(faults) == 1, faults
    assert problem in faults[0].problem
    assert hint in faults[0].hint


def test_words_of_other_engines_are_names_elsewhere() -> None:
    query = (
        "select session, `hop`(a), 'emit changes' as window from hop join into_y within on within.a = hop.a"
    )
    assert list(foreign_forms(query)) == []


def test_every_aggregate_of_spark_makes_a_query_stateful() -> None:
    arguments = ("x", "x, 2", "x order by x", "", "x, y, z")
    for name, is_aggregate in spark_functions().items():
        if name not in RANKS | {"between", "case", "cast", "when"}:
            assert any(_groups(f"{name}({each})") is is_aggregate for each in arguments), name


def _groups(call: str) -> bool | None:
    try:
        return bool(shape_of(f"select {call} from t").groups)
    except (OptionError, IndexError):  # sqlglot needs pairs for map(...)
        return None
