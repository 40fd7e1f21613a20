"""The state bound of each kind of step, as shown by `explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Pipeline, connect, windows
from headrace.explain.explanation import explain


def describe_bound(build: Callable[[Any], Any]) -> str:
    pipeline = Pipeline("p")
    tx = pipeline.read("tx", connect.memory(), schema="k string, v int, ts timestamp")
    build(tx).write("out", connect.memory())
    [step] = [step for step in explain(pipeline._plan()).steps.values() if step.state is not None]
    return str(step.state)


def build_window(
    window: windows.Window, n: str = "count(*)", ttl: str | None = None, **emit: Any
) -> Callable[[Any], Any]:
    def build(tx: Any) -> Any:
        keyed = tx.event_time("ts", out_of_order="1 minute").key_by("k").window(window, ttl=ttl)
        return keyed.emit(**emit).aggregate("w", n=n)

    return build


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            build_window(windows.tumbling("10 minutes"), lateness="5 minutes"),
            "open windows of each k, kept 16 minutes from their start",
        ),
        (
            build_window(windows.session("1 minute"), n="count(distinct v)"),
            "open sessions of each k, kept 2 minutes from their last row; distinct keeps values of every "
            "row in it",
        ),
        (build_window(windows.trailing("1 hour")), "the rows of each k of the last 61 minutes"),
        (
            build_window(windows.global_window(), n="sort_array(collect_list(v))"),
            "one window of each k, never expired; collect_list keeps values of every row in it; "
            "no bound: grows with the distinct values of k (window(..., ttl=...) expires idle ones)",
        ),
        (
            build_window(windows.count(3)),
            "the open window of each k, until the row that closes it arrives, and rows up to 1 minute "
            "behind; no bound: grows with the distinct values of k (window(..., ttl=...) expires idle ones)",
        ),
        (lambda tx: tx.aggregate("all", n="count(*)"), "one row"),
        (
            lambda tx: tx.key_by("k").aggregate("totals", n="sum(v)"),
            "one row for each k, never expired; no bound: grows with the distinct values of k "
            "(use a window, or window(windows.global_window(), ttl=...) to expire idle ones)",
        ),
        (
            lambda tx: tx.distinct("unique", on="k"),
            "one entry for each k, never expired; no bound: grows with the distinct values of k (set within=)",
        ),
        (
            lambda tx: tx.event_time("ts").distinct("unique", on="k", within="10 minutes"),
            "one entry for each k, for 20 minutes",
        ),
        (
            lambda tx: tx.sql("report", "select k, count(*) n from this group by k"),
            "one row for each k, never expired; no bound: grows with the distinct values of k (use a window, or "
            "window(windows.global_window(), ttl=...) to expire idle ones)",
        ),
    ],
)
def test_what_a_step_keeps_and_what_has_no_bound(build: Callable[[Any], Any], expected: str) -> None:
    assert describe_bound(build) == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (windows.global_window(), "one window of each k, expired 7 days after its last row"),
        (
            windows.count(3),
            "the open window of each k, until the row that closes it arrives, and rows up to 1 minute "
            "behind, expired 7 days after its last row",
        ),
    ],
)
def test_a_ttl_is_a_bound(window: windows.Window, expected: str) -> None:
    assert describe_bound(build_window(window, ttl="7 days")) == expected
