"""Warnings are reported and do not stop a run."""

from __future__ import annotations

import pytest

from headrace import Pipeline, SourceStream, connect, statements, triggers, windows
from headrace.plan.warnings import warnings_of


@pytest.fixture
def tx() -> SourceStream:
    return Pipeline("p").read("tx", connect.memory(), schema="k string, v int, ts timestamp")


def warnings(tx: SourceStream) -> list[str]:
    return [str(warning).split(": ", 1)[1] for warning in warnings_of(tx._pipeline._plan())]


def test_a_pipeline_whose_steps_are_all_read_has_none(tx: SourceStream) -> None:
    tx.write("out", connect.console())
    assert warnings(tx) == []


def test_a_step_that_nothing_reads_will_not_run(tx: SourceStream) -> None:
    tx.write("out", connect.console())
    tx.where("v > 1", step_name="big")
    assert warnings(tx) == [
        "`big`: no sink depends on it, so it does not run\n  hint: end it with write(...), or remove it"
    ]


@pytest.mark.parametrize(("mode", "count"), [("accumulating", 1), ("discarding", 1), ("retracting", 0)])
def test_swallowed_sessions_stay_in_a_keyed_sink_unless_they_are_retracted(
    tx: SourceStream, mode: str, count: int
) -> None:
    sessions = tx.event_time("ts").key_by("k").window(windows.session("1 minute"))
    panes = sessions.emit(lateness="1 hour", mode=mode).aggregate("s", n="count(*)")  # type: ignore[arg-type]
    panes.write("table", connect.sqlite(path="x.db", table="t", key=["k", "window"]))
    panes.late.write("late", connect.sqlite(path="x.db", table="late", key=["k"]))
    actual = warnings(tx)
    assert len(actual) == count
    assert all("a session that is merged into a longer one stays in `table`" in warning for warning in actual)


@pytest.mark.parametrize(("mode", "count"), [("accumulating", 1), ("retracting", 0)])
def test_early_panes_of_windows_whose_end_moves_stay_in_a_sink_keyed_by_window(
    tx: SourceStream, mode: str, count: int
) -> None:
    hundreds = tx.event_time("ts").key_by("k").window(windows.count(100))
    panes = hundreds.emit(early=triggers.after_count(10), mode=mode).aggregate("s", n="count(*)")  # type: ignore[arg-type]
    panes.write("table", connect.sqlite(path="x.db", table="t", key=["k", "window"]))
    panes.write("newest", connect.sqlite(path="x.db", table="n", key=["k"]))
    actual = warnings(tx)
    assert len(actual) == count
    assert all("each early pane has another `window` and stays in `table`" in warning for warning in actual)


def test_a_late_part_inside_a_trigger_never_fires_where_rows_are_taken_in_order(tx: SourceStream) -> None:
    hundreds = tx.event_time("ts").key_by("k").window(windows.count(100))
    trigger = triggers.repeatedly(triggers.after_watermark(late=triggers.after_count(1)))
    hundreds.emit(trigger=trigger).aggregate("s", n="count(*)").write("out", connect.console())
    assert warnings(tx) == [
        "`s`: count windows process rows in order, so the late part of the trigger never fires\n"
        "  hint: remove it; late rows are in .late"
    ]


def test_sessions_that_fire_once_are_never_swallowed_later(tx: SourceStream) -> None:
    sessions = tx.event_time("ts").key_by("k").window(windows.session("1 minute"))
    sessions.aggregate("s", n="count(*)").write(
        "table", connect.sqlite(path="x.db", table="t", key=["k", "window"])
    )
    assert warnings(tx) == []


SOURCES = """
create source a (k string, v double, ts timestamp, watermark for ts as ts - interval 5 minutes)
  with (connector = 'memory');
create source b (k string, w double, ts timestamp, watermark for ts as ts - interval 5 minutes)
  with (connector = 'memory');
create sink s with (connector = 'console') as
"""


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("select a.k, a.v, b.w from a left join b on a.k = b.k", 1),
        ("select a.k, a.v, b.w from a join b on a.k = b.k", 1),
        ("select a.k from a left semi join b on a.k = b.k", 1),
        (
            "select a.k, a.v, b.w from a left join b on a.k = b.k"
            " and b.ts between a.ts and a.ts + interval 5 minutes",
            0,
        ),
    ],
)
def test_a_join_of_streams_in_sql_without_a_bound_of_time_grows_without_bound(query: str, count: int) -> None:
    graph = statements.from_text(SOURCES + query, file="p.sql", name="p")
    actual = warnings_of(Pipeline._from_graph(graph)._plan())
    assert [str(warning.where).startswith("p.sql:") for warning in actual] == [True] * count
    growing = "stores all rows of `a` and `b`: its state grows without bound"
    assert [warning.what for warning in actual] == [growing] * count
    assert all("b.ts between a.ts" in warning.hint for warning in actual)


def test_a_live_join_of_tables_has_the_size_of_the_tables(tx: SourceStream) -> None:
    table = tx.event_time("ts").key_by("k").latest("last")
    other = table._pipeline.read("o", connect.memory(), schema="k string, w int, ts timestamp")
    others = other.event_time("ts").key_by("k").latest("others")
    both = table.join("both", others, on="k", select={"k": "left.k", "w": "right.w"})
    both.write("out", connect.sqlite(path="x.db", table="t", key="k"))
    assert warnings(tx) == []
