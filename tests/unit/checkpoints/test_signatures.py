"""State signatures: each change that the stored state depends on is reported, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, connect, patterns, triggers, windows
from headrace.checkpoints.signatures import (
    STATELESS,
    read_signature,
    signature_of,
    signature_problem,
    write_signature,
)
from headrace.steps.base import Node

COLUMNS = {"card": "string", "shop": "string", "amount": "int", "ts": "timestamp", "__ts": "timestamp"}
TUMBLING = windows.tumbling("5 minutes")


def build_window(
    *,
    key: str = "card",
    window: Any = TUMBLING,
    ttl: str | None = None,
    emit: dict[str, Any] | None = None,
    engine: Any = "kernel",
    **aggregates: str,
) -> Node:
    pipeline = Pipeline("pipe")
    tx = pipeline.read(
        "tx", connect.memory(), schema="card string, shop string, amount int, ts timestamp"
    ).event_time("ts")
    step = tx.key_by(key).window(window, ttl=ttl, engine=engine)
    panes = (step.emit(**emit) if emit else step).aggregate(
        "totals", **(aggregates or {"total": "sum(amount)"})
    )
    panes.write("out", connect.memory())
    return pipeline._plan()["totals"]


def changes(was: Node, now: Node, columns: dict[str, str] | None = None, **options: Any) -> str:
    problem = signature_problem(
        "`totals`", signature_of(was, COLUMNS), signature_of(now, columns or COLUMNS, **options)
    )
    return problem.what.partition("declaration: ")[2] if problem else ""


@pytest.mark.parametrize(
    ("now", "change"),
    [
        (
            {"window": windows.tumbling("10 minutes")},
            "window was `tumbling(size=5 minutes)`, is `tumbling(size=10 minutes)`",
        ),
        (
            {"window": windows.session("5 minutes")},
            "window was `tumbling(size=5 minutes)`, is `session(gap=5 minutes)`",
        ),
        (
            {"window": windows.tumbling("5 minutes", offset="1 minute")},
            "window was `tumbling(size=5 minutes)`, is `tumbling(size=5 minutes, offset=1 minute)`",
        ),
        (
            {"emit": {"early": triggers.every("30 seconds")}},
            "trigger was `after_watermark()`, is `after_watermark(early=every(period=30 seconds))`",
        ),
        ({"emit": {"mode": "retracting"}}, "mode was `accumulating`, is `retracting`"),
        ({"engine": "native"}, "late_rows were `divert`, are `count`"),
        ({"key": "shop"}, "keys were `card`, are `shop`; columns were `card string, amount int`, are"),
        ({"total": "max(amount)"}, "aggregates were `sum(amount)`, are `max(amount)`"),
        (
            {"total": "sum(amount)", "n": "count(*)"},
            "aggregates were `sum(amount)`, are `sum(amount), count(*)`",
        ),
    ],
)
def test_each_change_of_the_declaration_is_reported(now: dict[str, Any], change: str) -> None:
    assert changes(build_window(), build_window(**now)).startswith(change)


def test_a_ttl_is_reported() -> None:
    whole = windows.global_window()
    change = changes(build_window(window=whole), build_window(window=whole, ttl="7 days"))
    assert change.startswith("ttl was `nothing`, is `7 days`")


def test_lateness_and_the_trigger_it_brings_are_reported() -> None:
    change = changes(build_window(), build_window(emit={"lateness": "1 minute"}))
    assert "lateness was `0 seconds`, is `1 minute`" in change


def test_another_type_of_a_column_it_looks_at_is_reported() -> None:
    change = changes(build_window(), build_window(), COLUMNS | {"amount": "bigint"})
    assert change == "columns were `card string, amount int`, are `card string, amount bigint`"


def test_event_time_and_the_clock_are_distinguished() -> None:
    assert changes(build_window(), build_window(), by_clock=True) == "time was `event`, is `clock`"


def test_another_name_or_layout_of_the_same_aggregate_is_not_a_change() -> None:
    assert changes(build_window(), build_window(sum="sum(amount)")) == ""
    assert changes(build_window(total="sum( amount)"), build_window(total="sum(\n amount)")) == ""


def test_columns_that_it_does_not_use_do_not_matter() -> None:
    assert changes(build_window(), build_window(), {"note": "string", **COLUMNS, "shop": "bigint"}) == ""


def test_where_rows_wait_in_the_state_every_column_counts() -> None:
    for window in (windows.count(3), windows.trailing("1 minute"), windows.delta(of="amount", by=1)):
        step = build_window(window=window)
        assert "note string" in changes(step, step, {**COLUMNS, "note": "string"})


def test_in_arrival_order_no_row_waits() -> None:
    step = build_window(window=windows.count(3, order="arrival"))
    assert changes(step, step, {**COLUMNS, "note": "string"}) == ""


def test_a_condition_of_the_window_is_part_of_it() -> None:
    was = build_window(window=windows.punctuation("amount = 0", order="arrival"))
    now = build_window(window=windows.punctuation("shop = ''", order="arrival"))
    assert "window was `punctuation(" in changes(was, now)
    assert "columns were `card string, amount int`, are `card string, shop string, amount int`" in changes(
        was, now
    )


def test_distinct_and_running_aggregates() -> None:
    pipeline = Pipeline("pipe")
    tx = pipeline.read("tx", connect.memory(), schema="card string, amount int, ts timestamp").event_time(
        "ts"
    )
    tx.distinct("unique", on="card", within="1 hour").write("a", connect.memory())
    tx.key_by(big="amount > 10").aggregate("running", total="sum(amount)").write("b", connect.memory())
    graph = pipeline._plan()
    assert signature_of(graph["unique"], COLUMNS) == {
        "version": 2,
        "step": "distinct",
        "fields": {"on": ["card"], "within": 3_600_000_000, "time": "event"},
        "columns": {"card": "string"},
    }
    assert signature_of(graph["running"], COLUMNS) == {
        "version": 2,
        "step": "aggregate",
        "fields": {"keys": {"big": "amount > 10"}, "aggregates": ["sum(amount)"]},
        "columns": {"amount": "int"},
    }


def test_patterns_are_compared_element_by_element() -> None:
    def build_match(within: str) -> Node:
        pipeline = Pipeline("pipe")
        tx = pipeline.read("tx", connect.memory(), schema="card string, amount int, ts timestamp")
        pattern = patterns.step("small", "amount < 1").followed_by("large", "amount > 9")
        tx.event_time("ts").key_by("card").match("totals", pattern, within=within)
        return pipeline._plan()["totals"]

    assert changes(build_match("1 hour"), build_match("2 hours")) == (
        "within was `within(whole=1 hour)`, is `within(whole=2 hours)`"
    )
    assert changes(build_match("1 hour"), build_match("1 hour")) == ""


def test_another_kind_of_step_is_reported_as_that_alone() -> None:
    window = {"version": 2, "step": "window", "fields": {"lateness": 0}, "columns": {}}
    problem = signature_problem("`x`", window, STATELESS)
    assert problem is not None
    assert problem.what == (
        "its checkpoint holds the state of another declaration: step was `window`, is `stateless`"
    )
    assert "--fresh" in problem.hint


def test_a_signature_without_a_version_is_rejected() -> None:
    problem = signature_problem("`x`", {"step": "stateless"}, STATELESS)
    assert problem is not None
    assert str(problem) == (
        "`x`: its checkpoint was written by version 0.1 of Headrace, whose state this version cannot read\n"
        "  hint: start over with --fresh"
    )


def test_a_signature_counts_once_an_epoch_has_begun(tmp_path: Path) -> None:
    write_signature(tmp_path, STATELESS)
    assert read_signature(tmp_path) is None
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("v1\n{}\n-\n")
    assert read_signature(tmp_path) == STATELESS
