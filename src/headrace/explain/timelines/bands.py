"""Lay out one script line: rows at the top, the panes they fired, the watermark step, the panes it fired."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.explain.svg.marks import Cross, Dot, Mark, Rect, Text, width_of
from headrace.explain.timelines.lanes import lanes_of
from headrace.explain.timelines.recording import Arrival, Moment, Pane
from headrace.explain.timelines.scale import Scale

ROW_LANE, PANE_LANE, PANE_HEIGHT = 20.0, 25.0, 20.0
PAD = 7.0
STEP_ROOM = 8.0
NARROW = 6.0
"""Minimum width of the box of a pane: windows of one row have no length."""
BESIDE = 9.0
"""From the middle of a dot to its label."""
INSIDE = 6.0
"""Padding of a text in a box."""


@dataclass
class Band:
    """The marks of one moment, its bottom, and the height at which the watermark moves."""

    moment: Moment
    top: float
    bottom: float = 0.0
    step: float = 0.0
    marks: list[Mark] = field(default_factory=list)


def band_of(moment: Moment, top: float, scale: Scale) -> Band:
    """Lay out a moment below `top`."""
    band = Band(moment, top)
    before, after = split(moment)
    below = _rows(band, moment.rows, top + PAD, scale)
    below = _panes(band, before, below, scale)
    band.step = below + STEP_ROOM / 2
    below = _panes(band, after, below + STEP_ROOM, scale)
    band.bottom = max(below + PAD, top + 30)
    if not moment.rows and not moment.panes:
        band.step = (band.top + band.bottom) / 2
    return band


def split(moment: Moment) -> tuple[list[Pane], list[Pane]]:
    """Separate the panes that rows fired from those that the watermark fired.

    A retraction goes with the pane that follows it.
    """
    before: list[Pane] = []
    after: list[Pane] = []
    pending: list[Pane] = []
    for pane in moment.panes:
        pending.append(pane)
        if not pane.retraction:
            by_rows = moment.kind == "rows" and pane.timing != "on_time" and not pane.by_watermark
            (before if by_rows else after).extend(pending)
            pending = []
    return before, [*after, *pending]


def _rows(band: Band, rows: tuple[Arrival, ...], top: float, scale: Scale) -> float:
    places = [_row_span(row, scale) for row in rows]
    lanes = lanes_of([(left, right) for left, right, _ in places])
    for row, lane, (_, _, leftward) in zip(rows, lanes, places, strict=True):
        y = top + lane * ROW_LANE + ROW_LANE / 2
        band.marks += _row_marks(row, scale.x(row.at, otherwise=scale.left), y, leftward)
    return top + (max(lanes) + 1 if lanes else 0) * ROW_LANE


def _row_span(row: Arrival, scale: Scale) -> tuple[float, float, bool]:
    """Return the span of a row with its label, and true if the label is on the left for lack of space."""
    x, length = scale.x(row.at, otherwise=scale.left), BESIDE + width_of(_row_text(row))
    leftward = x + length > scale.right and x - length > scale.left
    return (x - length, x + 5, True) if leftward else (x - 5, x + length, False)


def _row_marks(row: Arrival, x: float, y: float, leftward: bool) -> list[Mark]:
    tip = f"{row.label}{f', {row.refused}' if row.refused else ''}"
    side = " right-row" if row.right else ""
    marks: list[Mark] = [Dot(x, y, "row refused-row" if row.refused else f"row{side}", tip)]
    if row.refused:
        marks.append(Cross(x, y))
    right_label = "row-label right-label" if row.right else "row-label"
    kind = "row-label refused-label" if row.refused else right_label
    if text := _row_text(row):
        marks.append(
            Text(x - BESIDE, y + 4, text, kind, "end") if leftward else Text(x + BESIDE, y + 4, text, kind)
        )
    return marks


def _row_text(row: Arrival) -> str:
    return f"{row.label}  {row.refused}" if row.refused else row.label


def _panes(band: Band, panes: list[Pane], top: float, scale: Scale) -> float:
    places = [_pane_place(pane, scale) for pane in panes]
    lanes = lanes_of([(left, right) for _, _, left, right, _ in places], in_order=True)
    for pane, lane, (x, width, _, _, text) in zip(panes, lanes, places, strict=True):
        y = top + lane * PANE_LANE + (PANE_LANE - PANE_HEIGHT) / 2
        kind = f"pane {pane.timing}{' retraction' if pane.retraction else ''}"
        band.marks.append(Rect(x, y, width, PANE_HEIGHT, kind, _tip(pane)))
        struck = " struck" if pane.retraction else ""
        band.marks.append(Text(text.x, y + 14, text.text, f"{text.kind}{struck}", text.anchor))
    return top + (max(lanes) + 1 if lanes else 0) * PANE_LANE


def _pane_place(pane: Pane, scale: Scale) -> tuple[float, float, float, float, Text]:
    """Return the box of a pane (x, width), its span with the label, and the label."""
    left = scale.x(pane.start, otherwise=scale.left)
    right = scale.x(pane.end, otherwise=scale.right)
    if right - left < NARROW:
        left, right = (left + right - NARROW) / 2, (left + right + NARROW) / 2
    x, width, length = left, right - left, width_of(pane.label)
    kind = f"pane-label {pane.timing}-label"
    if length + 2 * INSIDE <= width:
        return x, width, left, right, Text(x + width / 2, 0, pane.label, kind, "middle")
    beyond = right + INSIDE + length
    if beyond <= scale.right or left - INSIDE - length < scale.left:
        return x, width, left, beyond, Text(right + INSIDE, 0, pane.label, f"{kind} beside")
    return (
        x,
        width,
        left - INSIDE - length,
        right,
        Text(left - INSIDE, 0, pane.label, f"{kind} beside", "end"),
    )


def _tip(pane: Pane) -> str:
    timing = pane.timing.replace("_", " ")
    return f"{'retraction of ' if pane.retraction else ''}{pane.label}, {timing}"
