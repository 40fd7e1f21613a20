"""Pictures from recordings made by hand.

Where marks go, that none hide each other, and the text they become.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar, get_args
from xml.etree import ElementTree

import pytest

from headrace.errors import DocumentError, LoadError, TranscriptError
from headrace.explain.svg.marks import Cross, Dot, Path, Rect, Text, width_of
from headrace.explain.svg.writer import Panel
from headrace.explain.timelines.bands import split
from headrace.explain.timelines.lanes import lanes_of
from headrace.explain.timelines.layout import panel_of, wrap
from headrace.explain.timelines.recording import FOREVER, Arrival, Ends, Moment, Pane, Recording, Timing
from headrace.explain.timelines.scale import Scale, scale_of
from headrace.testing import read_case
from headrace.testing.drawing import draw_recordings, select_cases
from headrace.testing.drawing.recorder import step_to_draw

S = 1_000_000


def pane(start: int, end: int, label: str, timing: Timing = "on_time", retraction: bool = False) -> Pane:
    return Pane(start * S, end * S, label, timing, retraction)


RECORDING = Recording(
    "a late row fires again",
    "totals: tumbling 10 seconds",
    (
        Moment("rows", "rows", (Arrival(1 * S, "1"), Arrival(2 * S, "2"), Arrival(11 * S, "3"))),
        Moment("watermark", "watermark 12", (), (pane(0, 10, "3"),), 12 * S),
        Moment(
            "rows",
            "rows",
            (Arrival(5 * S, "4"), Arrival(6 * S, "9", "too late")),
            (pane(0, 10, "3", "on_time", True), pane(0, 10, "7", "late")),
            12 * S,
        ),
        Moment("end", "end of input", (), (pane(10, 20, "3"),), FOREVER),
    ),
)


M = TypeVar("M", Rect, Dot, Text, Path)


def marks_of(panel: Panel, kind: type[M], word: str) -> list[M]:
    return [mark for mark in panel.marks if isinstance(mark, kind) and word in mark.kind.split()]


def test_a_row_is_at_its_event_time_and_below_what_came_before() -> None:
    panel = panel_of(RECORDING)
    scale = scale_of(RECORDING, 150, 836)
    dots = [mark for mark in panel.marks if isinstance(mark, Dot)][:5]
    assert [dot.x for dot in dots] == [scale.x(at * S) for at in (1, 2, 11, 5, 6)]
    assert dots[3].y > dots[0].y


def test_a_pane_covers_its_window_and_is_coloured_by_timing() -> None:
    scale = scale_of(RECORDING, 150, 836)
    [late] = [mark for mark in marks_of(panel_of(RECORDING), Rect, "late") if mark.width > 16]
    assert (late.x, late.x + late.width) == (scale.x(0), scale.x(10 * S))
    assert late.tip == "7, late"


def test_a_retraction_is_struck_through_and_above_the_pane_that_replaces_it() -> None:
    panel = panel_of(RECORDING)
    [struck] = marks_of(panel, Text, "struck")
    [new] = marks_of(panel, Text, "late-label")
    assert struck.text == "3"
    assert struck.y < new.y


def test_a_refused_row_is_crossed_out_with_its_reason() -> None:
    panel = panel_of(RECORDING)
    crosses = [mark for mark in panel.marks if isinstance(mark, Cross)]
    assert len(crosses) == 2  # the row, and the legend
    [label] = marks_of(panel, Text, "refused-label")
    assert label.text == "9  too late"


def test_the_watermark_steps_right_and_down_and_ends_at_the_edge() -> None:
    line = marks_of(panel_of(RECORDING), Path, "watermark")[0]
    xs = [x for x, _ in line.points]
    ys = [y for _, y in line.points]
    assert xs == sorted(xs)
    assert ys == sorted(ys)
    assert xs[-1] == 836


def test_an_open_window_is_shaded_from_its_first_row_to_its_last_pane() -> None:
    panel = panel_of(RECORDING)
    first, second = marks_of(panel, Rect, "window")[:2]
    dots = [mark for mark in panel.marks if isinstance(mark, Dot)]
    assert first.y < dots[0].y
    assert first.y + first.height > dots[3].y
    assert second.y == first.y  # its row came in the same line


CROWDED = Recording(
    "many at once",
    "totals: " + "sliding 10 seconds every 1 second · " * 6,
    (
        Moment("rows", "rows", tuple(Arrival(at * S // 4, f"card {at}") for at in range(30))),
        Moment("rows", "rows", tuple(Arrival(7 * S, "same", "too late") for _ in range(4))),
        Moment(
            "watermark",
            "watermark 30",
            (),
            tuple(pane(start, start + 3, f"n {start}, total 1000.25") for start in range(12)),
            30 * S,
        ),
        Moment("end", "end of input", (), (pane(3, 3, "[1, 2, 3]"), Pane(None, None, "all")), FOREVER),
    ),
)

DAY = 1_763_164_800  # 2025-11-15
CALENDAR = Recording(
    "times of a calendar",
    "totals",
    (
        Moment("rows", "rows", (Arrival(DAY * S, "1"), Arrival((DAY + 1500) * S, "a longer label"))),
        Moment("end", "end of input", (), (pane(DAY, DAY + 300, "more than fits the window"),), FOREVER),
    ),
)


@dataclass(frozen=True)
class Extent:
    """The bounding box of a mark."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Extent) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def extent_of(mark: Text | Rect | Dot) -> Extent:
    if isinstance(mark, Rect):
        return Extent(mark.x, mark.y, mark.x + mark.width, mark.y + mark.height)
    if isinstance(mark, Dot):
        return Extent(mark.x - mark.radius, mark.y - mark.radius, mark.x + mark.radius, mark.y + mark.radius)
    width = width_of(mark.text, mark.size)
    left = mark.x - {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
    return Extent(left, mark.y - mark.size * 0.8, left + width, mark.y + mark.size * 0.2)


@pytest.mark.parametrize("recording", [RECORDING, CROWDED, CALENDAR], ids=["small", "crowded", "calendar"])
def test_no_text_dot_or_pane_hides_another(recording: Recording) -> None:
    panel = panel_of(recording)
    texts = [mark for mark in panel.marks if isinstance(mark, Text)]
    boxes = [mark for mark in panel.marks if isinstance(mark, Rect) and "pane" in mark.kind.split()]
    dots = [mark for mark in panel.marks if isinstance(mark, Dot)]
    solid: list[Rect | Dot] = [*boxes, *dots]
    groups: list[list[Text] | list[Rect | Dot]] = [texts, solid]
    for group in groups:
        assert [(a, b) for a, b in combinations(group, 2) if extent_of(a).overlaps(extent_of(b))] == []


@pytest.mark.parametrize("recording", [RECORDING, CROWDED, CALENDAR], ids=["small", "crowded", "calendar"])
def test_everything_is_inside_the_picture(recording: Recording) -> None:
    panel = panel_of(recording)
    extents = [extent_of(mark) for mark in panel.marks if isinstance(mark, Text | Rect | Dot)]
    assert min(e.left for e in extents) >= 0
    assert max(e.right for e in extents) <= 860
    assert max(e.bottom for e in extents) <= panel.height


def test_the_legend_shows_only_what_is_in_the_picture() -> None:
    texts = {mark.text for mark in panel_of(RECORDING).marks if isinstance(mark, Text)}
    assert {"on-time pane", "late pane", "retraction", "row sent to .late"} <= texts
    assert "early pane" not in texts


def test_panes_of_rows_come_before_the_watermark_moves_and_a_retraction_with_its_pane() -> None:
    early, gone, on_time = pane(0, 9, "1", "early"), pane(0, 9, "1", "early", True), pane(0, 9, "2")
    moment = Moment("rows", "rows", (), (early, gone, on_time), 9 * S)
    assert split(moment) == ([early], [gone, on_time])
    assert split(Moment("watermark", "", (), (early, gone, on_time))) == ([], [early, gone, on_time])


def test_lanes_keep_their_order_where_requested() -> None:
    spans = [(0.0, 10.0), (0.0, 30.0), (20.0, 40.0)]
    assert lanes_of(spans) == [0, 1, 0]
    assert lanes_of(spans, in_order=True) == [0, 1, 2]


def test_a_window_holds_its_ends_by_its_kind() -> None:
    window = pane(0, 10, "")
    held = {
        ends: [Recording("", "", (), ends).holds(window, at * S) for at in (0, 10)] for ends in get_args(Ends)
    }
    assert held == {"[)": [True, False], "(]": [False, True], "[]": [True, True]}


def test_ticks_are_round_and_few() -> None:
    assert Scale(-0.4 * S, 10.4 * S, 0, 100).ticks() == [n * S for n in range(11)]
    hour = Scale(0, 3600 * S, 0, 100)
    assert [hour.text(tick) for tick in hour.ticks()][:3] == ["0", "300", "600"]


def test_times_of_a_calendar_are_shown_as_such() -> None:
    day = DAY * S
    scale = Scale(day, day + 60 * S, 0, 100)
    assert scale.unit == "2025-11-15, UTC"
    assert scale.text(day + 30 * S) == "00:00:30"


def test_a_far_watermark_stands_at_the_edge_and_leaves_rows_apart() -> None:
    far = Recording("", "", (Moment("rows", "", (Arrival(0, "a"), Arrival(S, "b")), (), 10**15),))
    assert scale_of(far, 0, 100).x(10**15) == 100
    assert scale_of(far, 0, 100).x(S) > 50


def test_a_row_without_event_time_stands_at_the_left_edge() -> None:
    panel = panel_of(Recording("", "", (Moment("rows", "rows", (Arrival(None, "x", "no event time"),)),)))
    dot = next(mark for mark in panel.marks if isinstance(mark, Dot))
    assert dot.x == 150


def test_long_declarations_are_broken_at_spaces() -> None:
    assert wrap("one · two", 40, 12) == ["one", "two"]


def test_the_svg_is_well_formed_names_its_cases_and_suits_dark_pages() -> None:
    picture = draw_recordings([RECORDING, Recording("a < b & c", "x", ())])
    root = ElementTree.fromstring(picture)
    assert root.get("aria-label") == "a late row fires again; a < b & c"
    assert "@media (prefers-color-scheme: dark)" in picture
    assert len(root.findall("{http://www.w3.org/2000/svg}g")) == 2


CASE = """
name: counts
pipeline:
  sources: {tx: {memory: {}, schema: "v int, ts timestamp", event_time: {column: ts}}}
  steps:
    plain: {from: tx, where: v > 1}
    first: {from: tx, window: {tumbling: 1 minute}, aggregate: {n: count(*)}}
    second: {from: tx, window: {tumbling: 2 minutes}, aggregate: {n: count(*)}}
script:
  - expect: {second: []}
"""


def test_the_step_that_the_script_looks_at_is_drawn_or_the_named_one() -> None:
    case = read_case(CASE)
    assert step_to_draw(case).name == "second"
    assert step_to_draw(case, "first").name == "first"


def test_an_unknown_step_is_reported_with_the_nearest() -> None:
    with pytest.raises(TranscriptError) as caught:
        step_to_draw(read_case(CASE), "secnd")
    assert "unknown windowed step or join `secnd`" in str(caught.value)
    assert "second" in str(caught.value)


def test_a_case_without_windows_has_nothing_to_draw() -> None:
    bare = "\n".join(line for line in CASE.splitlines() if "tumbling" not in line).replace(
        "{second:", "{plain:"
    )
    with pytest.raises(TranscriptError) as caught:
        step_to_draw(read_case(bare))
    assert "there is nothing to draw: no step has a window or is a join" in str(caught.value)
    assert "headrace explain" in str(caught.value)


def test_an_unknown_case_is_reported_with_the_known_ones(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(CASE)
    assert [case.name for case in select_cases(file, "count")] == ["counts"]
    with pytest.raises(LoadError) as caught:
        select_cases(file, "cunts")
    assert "no case is named 'cunts'" in str(caught.value)
    assert "counts" in str(caught.value)


def test_a_case_that_is_wrong_reports_the_place(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(CASE.replace("tumbling: 1 minute", "tumblng: 1 minute"))
    with pytest.raises(DocumentError, match="tumblng"):
        select_cases(file)


JOIN = Recording(
    "a click after a view",
    "pairs: inner join with clicks",
    (
        Moment(
            "rows",
            "rows",
            (Arrival(2 * S, "v1"), Arrival(5 * S, "c1", right=True)),
            (
                Pane(2 * S, 5 * S, "v1 c1", "joined"),
                Pane(2 * S, 2 * S, "v1 null", "unmatched", by_watermark=True),
            ),
            9 * S,
        ),
    ),
    sides=("views", "clicks"),
    windowed=False,
)


def test_a_pair_reaches_from_one_row_to_the_other_and_nothing_is_shaded() -> None:
    panel, scale = panel_of(JOIN), scale_of(JOIN, 150, 836)
    [pair] = [mark for mark in marks_of(panel, Rect, "joined") if mark.width > 16]
    assert (pair.x, pair.x + pair.width) == (scale.x(2 * S), scale.x(5 * S))
    assert marks_of(panel, Rect, "window") == []
    texts = [mark.text for mark in panel.marks if isinstance(mark, Text)]
    assert {"row of views", "row of clicks", "joined rows", "row without a partner"} <= set(texts)


def test_rows_of_the_right_side_have_a_colour_of_their_own() -> None:
    [right, _] = marks_of(panel_of(JOIN), Dot, "right-row")  # the second one is in the legend
    assert right.x == scale_of(JOIN, 150, 836).x(5 * S)


def test_an_unmatched_row_is_below_the_step_of_the_watermark() -> None:
    before, after = split(JOIN.moments[0])
    assert ([pane.label for pane in before], [pane.label for pane in after]) == (["v1 c1"], ["v1 null"])
