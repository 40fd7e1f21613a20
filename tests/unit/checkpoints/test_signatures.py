"""What of a stateful step its state depends on: each change of it is told, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import Pipeline, connect, triggers, windows
from headrace.checkpoints.signatures import changed, keep, kept, record_of
from headrace.steps.base import Node

COLUMNS = {"card": "string", "shop": "string", "amount": "int", "ts": "timestamp", "__ts": "timestamp"}
TUMBLING = windows.tumbling("5 minutes")


def windowed(
    *,
    key: str = "card",
    window: Any = TUMBLING,
    ttl: str | None = None,
    emit: dict[str, Any] | None = None,
    **aggregates: str,
) -> Node:
    pipeline = Pipeline("pipe")
    tx = pipeline.read(
        "tx", connect.memory(), schema="card string, shop string, amount int, ts timestamp"
    ).event_time("ts")
    step = tx.key_by(key).window(window, ttl=ttl)
    panes = (step.emit(**emit) if emit else step).aggregate(
        "totals", **(aggregates or {"total": "sum(amount)"})
    )
    panes.write("out", connect.memory())
    return pipeline.check()["totals"]


def told(was: Node, now: Node, columns: dict[str, str] | None = None, **options: Any) -> str:
    problem = changed("`totals`", record_of(was, COLUMNS), record_of(now, columns or COLUMNS, **options))
    return problem.what.partition("declaration: ")[2] if problem else ""


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (
            {"window": windows.tumbling("10 minutes")},
            "window was `tumbling(5 minutes)`, is `tumbling(10 minutes)`",
        ),
        (
            {"window": windows.session("5 minutes")},
            "window was `tumbling(5 minutes)`, is `session(5 minutes)`",
        ),
        (
            {"window": windows.tumbling("5 minutes", offset="1 minute")},
            "window was `tumbling(5 minutes)`, is `tumbling(size(5 minutes), offset(1 minute))`",
        ),
        (
            {"emit": {"early": triggers.every("30 seconds")}},
            "trigger was `after_watermark()`, is `after_watermark(early(every(30 seconds)))`",
        ),
        ({"emit": {"mode": "retracting"}}, "mode was `accumulating`, is `retracting`"),
        ({"emit": {"late_rows": "count"}}, "late_rows were `divert`, are `count`"),
        ({"key": "shop"}, "keys were `card`, are `shop`; columns were `card string, amount int`, are"),
        ({"total": "max(amount)"}, "aggregates were `sum(amount)`, are `max(amount)`"),
        (
            {"total": "sum(amount)", "n": "count(*)"},
            "aggregates were `sum(amount)`, are `sum(amount), count(*)`",
        ),
    ],
)
def test_each_change_of_the_declaration_is_told(now: dict[str, Any], said: str) -> None:
    assert told(windowed(), windowed(**now)).startswith(said)


def test_a_ttl_is_told() -> None:
    whole = windows.global_window()
    said = told(windowed(window=whole), windowed(window=whole, ttl="7 days"))
    assert said.startswith("ttl was `nothing`, is `7 days`")


def test_lateness_and_the_trigger_it_brings_are_told() -> None:
    said = told(windowed(), windowed(emit={"lateness": "1 minute"}))
    assert "lateness was `0 seconds`, is `1 minute`" in said


def test_another_type_of_a_column_it_looks_at_is_told() -> None:
    said = told(windowed(), windowed(), COLUMNS | {"amount": "bigint"})
    assert said == "columns were `card string, amount int`, are `card string, amount bigint`"


def test_event_time_and_the_clock_are_told_apart() -> None:
    assert told(windowed(), windowed(), by_clock=True) == "time was `event`, is `clock`"


def test_another_name_or_layout_of_the_same_aggregate_is_not_a_change() -> None:
    assert told(windowed(), windowed(sum="sum(amount)")) == ""
    assert told(windowed(total="sum( amount)"), windowed(total="sum(\n amount)")) == ""


def test_columns_it_does_not_look_at_are_not_its_business() -> None:
    assert told(windowed(), windowed(), {"note": "string", **COLUMNS, "shop": "bigint"}) == ""


def test_where_rows_wait_in_the_state_every_column_counts() -> None:
    for window in (windows.count(3), windows.trailing("1 minute"), windows.delta(of="amount", by=1)):
        step = windowed(window=window)
        assert "note string" in told(step, step, {**COLUMNS, "note": "string"})


def test_in_arrival_order_no_row_waits() -> None:
    step = windowed(window=windows.count(3, order="arrival"))
    assert told(step, step, {**COLUMNS, "note": "string"}) == ""


def test_a_condition_of_the_window_is_part_of_it() -> None:
    was = windowed(window=windows.punctuation("amount = 0", order="arrival"))
    now = windowed(window=windows.punctuation("shop = ''", order="arrival"))
    assert "window was `punctuation(" in told(was, now)
    assert "columns were `card string, amount int`, are `card string, shop string, amount int`" in told(
        was, now
    )


def test_distinct_and_running_aggregates() -> None:
    pipeline = Pipeline("pipe")
    tx = pipeline.read("tx", connect.memory(), schema="card string, amount int, ts timestamp").event_time(
        "ts"
    )
    tx.distinct("unique", on="card", within="1 hour").write("a", connect.memory())
    tx.key_by(big="amount > 10").aggregate("running", total="sum(amount)").write("b", connect.memory())
    graph = pipeline.check()
    assert record_of(graph["unique"], COLUMNS) == {
        "step": "distinct",
        "on": "card",
        "within": "1 hour",
        "columns": "card string",
    }
    assert record_of(graph["running"], COLUMNS) == {
        "step": "aggregate",
        "keys": "big = amount > 10",
        "aggregates": "sum(amount)",
        "columns": "amount int",
    }


def test_another_kind_of_step_is_told_as_that_alone() -> None:
    problem = changed("`x`", {"step": "window", "window": "tumbling(1 minute)"}, {"step": "stateless"})
    assert problem is not None
    assert problem.what == (
        "its checkpoint holds the state of another declaration: step was `window`, is `stateless`"
    )
    assert "--fresh" in problem.hint


def test_a_record_counts_once_an_epoch_was_begun(tmp_path: Path) -> None:
    keep(tmp_path, {"step": "window"})
    assert kept(tmp_path) is None
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("v1\n{}\n-\n")
    assert kept(tmp_path) == {"step": "window"}
