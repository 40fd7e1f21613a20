"""The watermark of a picture follows the rules.

Rows, `watermark` lines, the clock, idle sources, the lowest of several.
"""

from __future__ import annotations

from headrace.explain.timelines.recording import FOREVER
from headrace.steps.base import Ref
from headrace.steps.rows.event_time import ClockTime, EventTime
from headrace.testing.drawing.watermark import WatermarkLine
from headrace.testing.transcripts.script import Advance, End, Rows, Watermark

S = 1_000_000
ROWS = Rows("", {})


def by_event_time(**value: object) -> EventTime:
    return EventTime("t", Ref("tx"), "ts", **value)  # type: ignore[arg-type]


def test_rows_move_it_less_what_may_be_out_of_order_and_never_back() -> None:
    line = WatermarkLine({"tx": by_event_time(out_of_order=4 * S)}, frozenset())
    marks = [line.after(ROWS, arrivals={"tx": [at * S]}, clock=0) for at in (3, 12, 9)]
    assert marks == [None, 8 * S, 8 * S]


def test_only_the_script_moves_it_where_the_script_sets_it() -> None:
    line = WatermarkLine({"tx": by_event_time()}, frozenset({"tx"}))
    assert line.after(ROWS, arrivals={"tx": [50 * S]}, clock=0) is None
    assert line.after(Watermark("", {"tx": 25 * S}), arrivals={}, clock=0) == 25 * S


def test_of_several_sources_the_lowest_counts_once_all_have_one() -> None:
    line = WatermarkLine({"a": by_event_time(), "b": by_event_time()}, frozenset())
    assert line.after(ROWS, arrivals={"a": [9 * S]}, clock=0) is None
    assert line.after(ROWS, arrivals={"b": [4 * S]}, clock=0) == 4 * S


def test_an_idle_source_goes_on_with_the_clock() -> None:
    line = WatermarkLine({"tx": by_event_time(idle=30 * S)}, frozenset())
    line.after(ROWS, arrivals={"tx": [5 * S]}, clock=0)
    assert line.after(Advance("", 20 * S), arrivals={}, clock=20 * S) == 5 * S
    assert line.after(Advance("", 20 * S), arrivals={}, clock=40 * S) == 45 * S


def test_a_condition_on_rows_leaves_it_unknown() -> None:
    line = WatermarkLine({"tx": by_event_time(watermark_when="done")}, frozenset())
    assert line.after(ROWS, arrivals={"tx": [5 * S]}, clock=0) is None


def test_time_by_the_clock_is_the_clock() -> None:
    line = WatermarkLine({"tx": ClockTime("t", Ref("tx"), "processing")}, frozenset())
    assert not line.by_event_time("tx")
    assert line.after(Advance("", 7 * S), arrivals={}, clock=7 * S) == 7 * S


def test_the_end_of_the_input_is_the_end_of_time() -> None:
    assert WatermarkLine({"tx": by_event_time()}, frozenset()).after(End(""), arrivals={}, clock=0) == FOREVER
