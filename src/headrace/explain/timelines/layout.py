"""Lay out a recording as a time line: event time runs to the right, the script lines run down."""

from __future__ import annotations

from headrace.explain.svg.marks import Mark, Path, Rect, Text, width_of
from headrace.explain.svg.writer import Panel
from headrace.explain.timelines.bands import Band, band_of
from headrace.explain.timelines.legend import legend
from headrace.explain.timelines.recording import FOREVER, Pane, Recording
from headrace.explain.timelines.scale import Scale, scale_of

WIDTH = 860.0
LEFT, RIGHT = 150.0, 24.0
TITLE = 34.0
LINE = 17.0
AXIS = 40.0
SMALL = 11.0


def panel_of(recording: Recording) -> Panel:
    """Lay out a recording."""
    scale = scale_of(recording, LEFT, WIDTH - RIGHT)
    heading, top = _heading(recording)
    top += AXIS
    bands: list[Band] = []
    for moment in recording.moments:
        bands.append(band_of(moment, bands[-1].bottom if bands else top, scale))
    bottom = bands[-1].bottom if bands else top
    foot, height = legend(recording, LEFT, bottom + 24, WIDTH - RIGHT)
    marks = [
        *_shades(recording, bands, scale),
        *_axis(scale, top, bottom),
        *_lines(bands),
        *_watermark(bands, scale),
        *(mark for band in bands for mark in band.marks),
        *heading,
        *foot,
    ]
    return Panel(recording.name, tuple(marks), WIDTH, height + 16)


def _heading(recording: Recording) -> tuple[list[Mark], float]:
    marks: list[Mark] = [Text(20, TITLE, recording.name, "title", size=15)]
    y = TITLE
    for line in wrap(recording.declared, WIDTH - 20 - RIGHT, SMALL):
        y += LINE
        marks.append(Text(20, y, line, "declared", size=SMALL))
    return marks, y + 6


def wrap(text: str, width: float, size: float) -> list[str]:
    """Break a text at spaces into lines that fit."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(longer, size) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return [line.strip(" ·") for line in lines]


def _axis(scale: Scale, top: float, bottom: float) -> list[Mark]:
    marks: list[Mark] = [Text(20, top - 8, scale.unit, "faint", size=SMALL)]
    last = float("-inf")
    for tick in scale.ticks():
        x, text = scale.x(tick), scale.text(tick)
        marks.append(Path(((x, top - 3), (x, bottom)), "grid"))
        if x - width_of(text, SMALL) / 2 > last:
            marks.append(Text(x, top - 8, text, "faint", "middle", SMALL))
            last = x + width_of(text, SMALL) / 2 + 6
    return marks


def _lines(bands: list[Band]) -> list[Mark]:
    marks: list[Mark] = []
    for band in bands:
        marks.append(Path(((20, band.top), (WIDTH - RIGHT, band.top)), "rule"))
        marks.append(Text(20, band.top + 21, band.moment.label, f"line {band.moment.kind}"))
    return marks


def _shades(recording: Recording, bands: list[Band], scale: Scale) -> list[Mark]:
    """Shade each window from the line with its first row to its last pane."""
    lives: dict[tuple[int | None, int | None], tuple[float, float]] = {}
    for band in bands if recording.windowed else ():
        for pane in band.moment.panes:
            first = lives.get((pane.start, pane.end), (_first_row_top(recording, pane, bands), 0))[0]
            lives[pane.start, pane.end] = (first, band.bottom)
    shades: list[Mark] = []
    for (start, end), (top, bottom) in lives.items():
        left, right = scale.x(start, otherwise=scale.left), scale.x(end, otherwise=scale.right)
        shades.append(Rect(left, top, max(right - left, 1.0), bottom - top, "window"))
    return shades


def _first_row_top(recording: Recording, pane: Pane, bands: list[Band]) -> float:
    """Return the top of the band with the first row of a window."""
    fired = next(band for band in bands if pane in band.moment.panes)
    inside = (band for band in bands if any(recording.holds(pane, row.at) for row in band.moment.rows))
    return min((band.top for band in inside), default=fired.top)


def _watermark(bands: list[Band], scale: Scale) -> list[Mark]:
    points: list[tuple[float, float]] = []
    last: int | None = None
    for band in bands:
        mark = band.moment.watermark
        if mark is None or mark == last:
            continue
        previous = points[-1][0] if points else scale.left
        points += [(previous, band.step), (_at(mark, scale), band.step)]
        last = mark
    if not points:
        return []
    return [Path((*points, (points[-1][0], bands[-1].bottom)), "watermark")]


def _at(mark: int, scale: Scale) -> float:
    return scale.right if mark == FOREVER else scale.x(mark)
