"""A band: one line of a script, drawn. Rows at the top, then what they fired, the watermark's step, what that fired."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.testing.drawing.lanes import lanes_of
from headrace.testing.drawing.marks import Cross, Dot, Mark, Rect, Text, width_of
from headrace.testing.drawing.recording import Arrival, Moment, Pane
from headrace.testing.drawing.scale import Scale

ROW_LANE, PANE_LANE, PANE_HEIGHT = 20.0, 25.0, 20.0
PAD = 7.0
STEP_ROOM = 8.0
NARROW = 6.0
"""The least width of a pane's box: windows of one row have no length."""
BESIDE = 9.0
"""From the middle of a dot to its label."""
INSIDE = 6.0
"""What is left free on either side of a text in a box."""


@dataclass
class Band:
    """The marks of one moment, its bottom, and the height at which the watermark moves."""

    moment: Moment
    top: float
    bottom: float = 0.0
    step: float = 0.0
    marks: list[Mark] = field(default_factory=list)


def band_of(moment: Moment, top: float, scale: Scale) -> Band:
    """Lay a moment out below `top`."""
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
    """The panes that rows fired, and those that the watermark fired after it had moved.

    A retraction goes with the pane that follows it.
    """
    before: list[Pane] = []
    after: list[Pane] = []
    waiting: list[Pane] = []
    for pane in moment.panes:
        waiting.append(pane)
        if not pane.retraction:
            by_rows = moment.kind == "rows" and pane.timing != "on_time"
            (before if by_rows else after).extend(waiting)
            waiting = []
    return before, [*after, *waiting]


def _rows(band: Band, rows: tuple[Arrival, ...], top: float, scale: Scale) -> float:
    places = [_row_span(row, scale) for row in rows]
    lanes = lanes_of([(left, right) for left, right, _ in places])
    for row, lane, (_, _, leftward) in zip(rows, lanes, places, strict=True):
        y = top + lane * ROW_LANE + ROW_LANE / 2
        band.marks += _row_marks(row, scale.x(row.at, otherwise=scale.left), y, leftward)
    return top + (max(lanes) + 1 if lanes else 0) * ROW_LANE


def _row_span(row: Arrival, scale: Scale) -> tuple[float, float, bool]:
    """From where to where a row and its label go, and whether the label is on the left for want of room."""
    x, length = scale.x(row.at, otherwise=scale.left), BESIDE + width_of(_row_text(row))
    leftward = x + length > scale.right and x - length > scale.left
    return (x - length, x + 5, True) if leftward else (x - 5, x + length, False)


def _row_marks(row: Arrival, x: float, y: float, leftward: bool) -> list[Mark]:
    tip = f"{row.label}{f', {row.refused}' if row.refused else ''}"
    marks: list[Mark] = [Dot(x, y, "row refused-row" if row.refused else "row", tip)]
    if row.refused:
        marks.append(Cross(x, y))
    kind = "row-label refused-label" if row.refused else "row-label"
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
    """The box of a pane (x, width), the room it takes with its text, and the text: in the box or beside it."""
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
