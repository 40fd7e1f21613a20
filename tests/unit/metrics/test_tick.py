"""Rows and dead letters of each step in a tick."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.connectors.base import Reception
from headrace.metrics.tick import TickBuilder
from headrace.runtime.progress.row_accounting import RowAccounting
from headrace.runtime.progress.status import QueryStatus, Status

SCHEMA = "a int"


def read(pipeline: Pipeline, name: str, on_error: Any = "divert") -> Any:
    source = connect.files(path=f"/data/{name}")
    return pipeline.read(name, source, format="json", schema=SCHEMA, on_error=on_error)


def steps_of(pipeline: Pipeline, queries: dict[str, int], **counts: Any) -> Any:
    read_rows = tuple(QueryStatus(name, 0, rows) for name, rows in queries.items())
    status = Status(True, sum(queries.values()), 0, 0.0, None, None, 0, queries=read_rows, **counts)
    return TickBuilder(pipeline._plan()).build(status)["steps"]


def test_dead_letters_of_a_source_are_no_rows_of_that_source_alone() -> None:
    pipeline = Pipeline("two")
    for name in ("a", "b"):
        rows = read(pipeline, name)
        rows.write(f"out_{name}", connect.console())
        rows.where("a > 0", step_name=f"positive_{name}").write(f"some_{name}", connect.console())
    dead = {"a": 5, "b": 0}
    steps = steps_of(pipeline, {"a": 10, "b": 10}, dead_letters=5, dead_letters_of=dead)
    assert [steps[name]["dead_letters"] for name in ("a", "b")] == [5, 0]
    assert [steps[name]["rows_in"] for name in ("positive_a", "positive_b")] == [5, 10]
    assert [steps[name]["rows_in"] for name in ("out_a", "out_b")] == [5, 10]


@pytest.mark.parametrize("on_error", ["divert", "skip"])
def test_dead_letters_are_counted_at_their_source_if_they_are_written_or_skipped(on_error: Any) -> None:
    pipeline = Pipeline("one")
    rows = read(pipeline, "a", on_error)
    rows.write("out", connect.console())
    sinks = {"out": 5}
    if on_error == "divert":
        rows.dead_letters.where("position > 3", step_name="some").write("dead", connect.console())
        sinks["dead"] = 2
    steps = steps_of(pipeline, {"a": 10}, dead_letters=5, dead_letters_of={"a": 5}, sinks=sinks)
    assert (steps["a"]["dead_letters"], steps["out"]["rows_in"]) == (5, 5)
    assert on_error == "skip" or (steps["some"]["rows_in"], steps["dead"]["rows_out"]) == (5, 2)


def test_counts_of_steps_continue_those_of_earlier_runs() -> None:
    pipeline = Pipeline("again")
    rows = read(pipeline, "a")
    rows.write("out", connect.console())
    rows.sql("few", "select * from a where a > 0").write("some", connect.console())
    status = Status(True, 9, 9, 0.0, None, None, 0, queries=(QueryStatus("a", 0, 9),), sinks={"out": 9})
    first = TickBuilder(pipeline._plan()).build(status)
    ticks = TickBuilder(pipeline._plan(), first)
    second = ticks.build(status)
    assert [tick["steps"]["out"]["rows_out"] for tick in (first, second)] == [9, 18]
    assert [tick["steps"]["out"]["rows_in"] for tick in (first, second)] == [9, 18]
    assert second["steps"]["out"]["rows_out"] == second["metrics"]["rows_out"]
    assert [tick["steps"]["a"]["rows_in"] for tick in (first, second)] == [None, None], (
        "a source reads no step"
    )
    assert ticks.build(status)["steps"]["out"]["rate_out"] == 0, "earlier rows are none of this run's rate"


def test_violations_of_a_rule_continue_those_of_earlier_runs() -> None:
    pipeline = Pipeline("checked")
    read(pipeline, "a").expect("checked", positive="a > 0").write("out", connect.console())
    counts = {"rows": 9, "processed": 6, "unmatched": 3, "violated positive": 3}
    steps = {"checked": RowAccounting.between({}, counts)}
    status = Status(True, 9, 6, 0.0, None, None, 0, steps=steps)
    first = TickBuilder(pipeline._plan()).build(status)
    second = TickBuilder(pipeline._plan(), first).build(status)
    assert [tick["steps"]["checked"]["violated"] for tick in (first, second)] == [
        {"positive": 3},
        {"positive": 6},
    ]
    assert "violated" not in first["steps"]["checked"]["accounting"]


def test_backlog_of_a_log_is_the_lag_of_its_source() -> None:
    pipeline = Pipeline("edge")
    source = connect.socket(port=9)
    pipeline.read("a", source, format="json", schema=SCHEMA).write("out", connect.console())
    queries = (QueryStatus("a", lag={"tx-0": 2}),)
    counts = {"a": Reception(received=9, stored=7, duplicates=0, dropped=2, refused=0, backlog=5)}
    tick = TickBuilder(pipeline._plan()).build(
        Status(True, 2, 2, 0.0, None, None, 0, queries=queries, receptions=counts)
    )
    assert tick["lag_by_partition"] == {"tx-0": 2, "a-log": 5}
    assert (tick["metrics"]["lag"], tick["metrics"]["messages_dropped"]) == (7, 2)
    assert tick["steps"]["a"]["reception"]["stored"] == 7
    assert "reception" not in tick["steps"]["out"]


def test_the_size_of_the_state_is_unknown_until_every_query_has_reported() -> None:
    pipeline = Pipeline("one")
    read(pipeline, "a").write("out", connect.console())
    sizes = []
    for query in (QueryStatus("a"), QueryStatus("a", 3, state_bytes=900)):
        status = Status(True, 0, 0, 0.0, None, None, 0, queries=(query,))
        sizes.append(TickBuilder(pipeline._plan()).build(status)["metrics"]["state_bytes"])
    assert sizes == [None, 900]
