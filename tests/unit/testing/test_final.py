"""Final results: what is left when everything replaced, retracted or swallowed is gone, and what can't be compared."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Pipeline
from headrace.plan.graph import Graph
from headrace.steps.base import Ref
from headrace.testing.transcripts.results.final import final_rows, obstacle, split_sessions
from headrace.testing.transcripts.results.outputs import Instant


def graph(step: str, *, time: str = "event_time: {column: ts}", more: str = "") -> Graph:
    return Pipeline.from_yaml_text(
        f"name: x\nsources: {{tx: {{memory: {{}}, schema: 'k string, v int, ts timestamp', {time}}}}}\n"
        f"steps:\n  out: {{from: tx, {step}}}\n{more}"
    )._graph


def pane(
    k: str, start: int, end: int, n: int, *, retraction: bool = False, number: int | None = None
) -> dict[str, Any]:
    window: dict[str, Any] = {"start": Instant(start), "end": Instant(end)}
    window |= {} if number is None else {"number": number}
    return {
        "k": k,
        "window": window,
        "n": n,
        "pane": {"index": 0, "timing": "early", "retraction": retraction},
    }


def compute_final(step: str, *rows: dict[str, Any]) -> list[tuple[str, int, int]]:
    actual = final_rows(graph(step), Ref("out"), rows)
    assert all("pane" not in row for row in actual)
    return [(row["k"], row["window"]["start"].micros, row["n"]) for row in actual]


TUMBLING = (
    "key_by: k, window: {tumbling: 10 seconds}, emit: {early: {after_count: 1}}, aggregate: {n: count(*)}"
)
SESSION = (
    "key_by: k, window: {session: 10 seconds}, emit: {early: {after_count: 1}}, aggregate: {n: count(*)}"
)


def test_the_last_pane_of_each_key_and_window_is_left() -> None:
    rows = [pane("a", 0, 10, 1), pane("b", 0, 10, 1), pane("a", 10, 20, 1), pane("a", 0, 10, 2)]
    assert sorted(compute_final(TUMBLING, *rows)) == [("a", 0, 2), ("a", 10, 1), ("b", 0, 1)]


def test_a_window_that_grows_with_its_rows_is_known_by_its_number() -> None:
    count = "key_by: k, window: {count: 3}, emit: {early: {after_count: 1}}, aggregate: {n: count(*)}"
    rows = [pane("a", 0, end, n, number=number) for end, n, number in ((0, 1, 0), (9, 3, 0), (12, 1, 1))]
    assert compute_final(count, *rows) == [("a", 0, 3), ("a", 0, 1)]


def test_a_retraction_takes_its_pane_away() -> None:
    rows = [pane("a", 0, 10, 1), pane("a", 0, 10, 1, retraction=True)]
    assert compute_final(TUMBLING, *rows) == []


def test_a_merged_session_swallows_those_it_was_made_of() -> None:
    rows = [
        pane("a", 0, 10, 1),
        pane("a", 12, 22, 1),
        pane("b", 0, 10, 1),
        pane("a", 0, 22, 3),
        pane("a", 22, 32, 1),
    ]
    assert sorted(compute_final(SESSION, *rows)) == [("a", 0, 3), ("a", 22, 1), ("b", 0, 1)]


def test_a_session_that_was_over_before_the_row_came_that_would_join_it_is_not_swallowed() -> None:
    rows = [pane("a", 1, 7, 2), pane("a", 6, 10, 1), pane("b", 20, 30, 1)]
    assert compute_final(SESSION, *rows) == [("a", 1, 2), ("a", 6, 1), ("b", 20, 1)]
    plan = graph(SESSION)
    final = final_rows(plan, Ref("out"), rows)
    assert split_sessions(plan, Ref("out"), final)
    assert not split_sessions(plan, Ref("out"), final[1:])
    assert not split_sessions(graph(TUMBLING), Ref("out"), final)


def test_the_last_row_of_each_key_of_a_running_aggregate_is_left() -> None:
    plan = graph("key_by: k, aggregate: {n: count(*)}")
    rows: list[dict[str, Any]] = [
        {"k": "a", "n": 1},
        {"k": None, "n": 1},
        {"k": "a", "n": 2},
        {"k": "null", "n": 5},
    ]
    assert final_rows(plan, Ref("out"), rows) == [
        {"k": "a", "n": 2},
        {"k": None, "n": 1},
        {"k": "null", "n": 5},
    ]


def test_rows_that_are_never_replaced_are_all_left() -> None:
    assert len(final_rows(graph("where: v > 1"), Ref("out"), [{"v": 2}, {"v": 2}])) == 2


@pytest.mark.parametrize(
    ("step", "options", "reason"),
    [
        (
            "window: {tumbling: 1 s}, emit: {early: {after_count: 1}, mode: discarding}, aggregate: {n: "
            "count(*)}",
            {},
            "discarding panes are parts of a result",
        ),
        (
            "window: {tumbling: 1 s}, aggregate: {n: count(*)}",
            {"time": "processing_time: true"},
            "time by the clock differs from run to run",
        ),
        (
            "window: {tumbling: 1 s}, emit: {trigger: {after_count: 1}, allow_loss: true}, aggregate: {n: "
            "count(*)}",
            {},
            "the trigger may lose rows",
        ),
        (
            "window: {count: 3}, emit: {trigger: {repeatedly: {after_count: 2}}}, aggregate: {n: count(*)}",
            {},
            "the trigger may not emit the last rows of a window",
        ),
        (
            "window: {count: 3}, emit: {trigger: {in_sequence: [{after_count: 2}, {repeatedly: {after_count: "
            "1}}]}}, aggregate: {n: count(*)}",
            {},
            "the trigger may not emit the last rows of a window",
        ),
        (
            "window: {count: 3}, emit: {trigger: {in_sequence: [{after_count: 1}, {repeatedly: {after_count: "
            "1}}]}}, aggregate: {n: count(*)}",
            {},
            "",
        ),
        (
            "window: {trailing: 1 s}, emit: {lateness: 1 s}, aggregate: {n: count(*)}",
            {},
            "a trailing window with lateness emits rows again",
        ),
        ("where: v > 1", {}, ""),
        ("key_by: k, aggregate: {n: count(*)}", {}, ""),
    ],
)
def test_what_cannot_be_compared_reports_the_reason(step: str, options: dict[str, str], reason: str) -> None:
    assert obstacle(graph(step, **options), Ref("out")) == reason


def test_a_row_that_is_replaced_later_cannot_be_followed_through_another_step() -> None:
    plan = graph("key_by: k, aggregate: {n: count(*)}", more="  big: {from: out, where: n > 1}\n")
    assert obstacle(plan, Ref("big")) == "another step has processed rows that are replaced later"


def test_late_rows_are_about_the_stream() -> None:
    plan = graph("window: {tumbling: 1 s}, aggregate: {n: count(*)}")
    assert obstacle(plan, Ref("out", "late")) == "a batch has no `late`"
