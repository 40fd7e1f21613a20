"""SQL queries are checked against their inputs: event time, changes, and joins."""

from __future__ import annotations

import pytest

from headrace import Pipeline, connect, triggers, windows
from headrace.errors import OptionError, PlanError
from headrace.joins.declare import TableJoin
from headrace.plan.graph import Graph
from headrace.steps.base import Ref
from headrace.windows.declare import WindowAggregate

SCHEMA = "k string, v int, ts timestamp"


def streams(*, time: bool = True) -> Pipeline:
    pipeline = Pipeline("p")
    for name in ("a", "b"):
        source = pipeline.read(f"{name}_in" if time else name, connect.memory(), schema=SCHEMA)
        if time:
            source.event_time("ts", step_name=name)
    return pipeline


def check_valid(pipeline: Pipeline, query: str) -> Graph:
    pipeline.sql("q", query).write("out", connect.memory())
    pipeline.check()
    return pipeline._graph


def refuse(pipeline: Pipeline, query: str) -> str:
    with pytest.raises(OptionError) as caught:
        pipeline.sql("q", query)
    return str(caught.value)


def check(pipeline: Pipeline, query: str) -> str:
    pipeline.sql("q", query).write("out", connect.memory())
    with pytest.raises(PlanError) as caught:
        pipeline.check()
    return str(caught.value)


@pytest.mark.parametrize(
    "query",
    [
        "select k, count(*) n from a group by k, window(ts, '1 minute')",
        "select k, count(*) n from a group by k, session_window(ts, '1 minute')",
    ],
)
def test_a_window_needs_event_time(query: str) -> None:
    message = refuse(streams(time=False), query)
    assert message.startswith(
        "`q`:1:41: `ts` has no watermark\n  hint: declare it at the source: WATERMARK FOR"
    )
    assert 'event_time("ts") before a sql step' in message


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) n from (select ts + interval 1 hour as ts from a) group by window(ts, '1 minute')",
        "with c as (select k as ts from a) select count(*) n from c group by window(ts, '1 minute')",
    ],
)
def test_a_window_needs_the_column_of_event_time(query: str) -> None:
    assert "`ts` has no watermark" in refuse(streams(), query)


def test_a_group_by_a_computed_window_is_a_table() -> None:
    query = "select count(*) n from a group by window(timestamp_seconds(v), '1 minute')"
    assert check_valid(streams(), query).facts(Ref("q:select")).change == "table"


@pytest.mark.parametrize(
    "query",
    [
        "select a.k from a left join b on a.k = b.k",
        "select a.k from a left join b on a.k = b.k and b.ts >= a.ts",
        "select a.k from a right join b on a.k = b.k and b.ts <= a.ts",
        "select a.k from a full join b on a.k = b.k and b.ts <= a.ts",
        "select a.k from a left semi join b on a.k = b.k",
        "select a.k from a left join b on a.k = b.k and date_trunc('hour', b.ts) <= a.ts",
        "select a.k from a left join b on a.k = b.k and (b.ts <= a.ts or b.v = 1)",
    ],
)
def test_an_outer_join_without_a_bound_of_event_times_follows_both_sides(query: str) -> None:
    graph = check_valid(streams(), query)
    [join] = graph.of(TableJoin)
    assert join.at == "live"
    assert graph.facts(Ref("q")).change == "table"


@pytest.mark.parametrize(
    "query",
    [
        "select a.k from a left join b on a.k = b.k and b.ts between a.ts and a.ts + interval 1 hour",
        "select a.k from a right join b on a.k = b.k and a.ts < b.ts",
        "select a.k from a full join b on a.k = b.k and a.ts = b.ts",
        "select x.k from a x left semi join b y on x.k = y.k and x.ts >= y.ts - interval 1 minute",
    ],
)
def test_an_outer_join_with_a_bound_is_accepted(query: str) -> None:
    pipeline = streams()
    pipeline.sql("q", query).write("out", connect.memory())
    pipeline.check()


def test_an_outer_join_reads_rows_without_event_time_and_subqueries() -> None:
    query = "select a.k from a left join b on a.k = b.k and b.ts <= a.ts"
    assert check_valid(streams(time=False), query).of(TableJoin)
    query = "select a.k from a left join (select * from b) c on a.k = c.k and c.ts <= a.ts"
    assert check_valid(streams(), query).of(TableJoin)


def test_a_query_reads_a_stream() -> None:
    assert "the query reads no stream\n  hint: write `select ... from <stream> ...`" in check(
        streams(), "select 1 as a"
    )


def test_a_query_keeps_the_changes_of_a_table() -> None:
    pipeline = streams()
    timed = pipeline.read("tx", connect.memory(), schema=SCHEMA).event_time("ts")
    timed.key_by("k").latest("current")
    timed.key_by("k").window(windows.tumbling("1 hour")).emit(early=triggers.after_count(1)).aggregate(
        "panes", n="count(*)"
    )
    pipeline.sql("kept", "select k, change from current where v > 1").write(
        "kept_out", connect.memory(key=["k"])
    )
    pipeline.sql("pane", "select * from panes").write("pane_out", connect.memory(key=["k", "window"]))
    assert pipeline._plan().facts(Ref("kept")).change == "table"
    assert check_valid(streams_with_table(), "select k from current").facts(Ref("q")).change == "table"
    message = check(streams_with_table(), "select k, upper(change) as change from current")
    assert "is a table, whose removed rows would be results" in message
    message = check(streams_with_table(), "select k, n from panes")
    assert "`panes` replaces rows, whose old versions would be results: the query drops its `pane`" in message


def streams_with_table() -> Pipeline:
    pipeline = streams()
    timed = pipeline.read("tx", connect.memory(), schema=SCHEMA).event_time("ts")
    timed.key_by("k").latest("current")
    early = timed.key_by("k").window(windows.tumbling("1 hour")).emit(early=triggers.after_count(1))
    early.aggregate("panes", n="count(*)")
    return pipeline


def test_a_query_with_state_reads_the_timed_rows_of_a_name() -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", connect.memory(), schema=SCHEMA).event_time("ts")
    pipeline.sql("grouped", "select k, count(*) n from tx group by k, window(ts, '1 hour')")
    pipeline.sql("plain", "select k from tx")
    nodes = pipeline._plan().nodes
    assert isinstance(nodes["grouped"], WindowAggregate)
    assert nodes["grouped"].inputs == (Ref("tx:event_time"),)
    assert nodes["plain"].inputs == (Ref("tx"),)


def test_sinks_of_a_query_have_one_mode() -> None:
    pipeline = streams()
    totals = pipeline.sql("totals", "select k, sum(v) s from a group by k")
    totals.write("all", connect.memory(), mode="complete")
    totals.write("new", connect.memory(), mode="update")
    with pytest.raises(PlanError, match="its sinks have different modes"):
        pipeline.check()


def test_a_stream_is_not_a_column() -> None:
    query = "select datediff(second, a, b) as d from a join b on a.k = b.k"
    assert "`q`:1:28: unknown column `b`" in refuse(streams(), query)
