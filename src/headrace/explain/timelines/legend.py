"""The legend: the marks that occur in this picture."""

from __future__ import annotations

from headrace.explain.svg.marks import Cross, Dot, Mark, Path, Rect, Text, width_of
from headrace.explain.timelines.recording import Recording

SMALL = 11.0
ICON = 22.0
APART = 18.0
ROW = 20.0
_TIMINGS = {
    "early": "early pane",
    "on_time": "on-time pane",
    "late": "late pane",
    "joined": "joined rows",
    "unmatched": "row without a partner",
}


def legend(recording: Recording, left: float, top: float, right: float) -> tuple[list[Mark], float]:
    """Return the marks of the legend below `top`, and its lower end."""
    marks: list[Mark] = []
    x, y = left, top
    for kind, text in _entries(recording):
        width = ICON + width_of(text, SMALL) + APART
        if x + width - APART > right and x > left:
            x, y = left, y + ROW
        marks += [*_icon(kind, x, y), Text(x + ICON, y + 4, text, "faint", size=SMALL)]
        x += width
    return marks, y + 10


def _entries(recording: Recording) -> list[tuple[str, str]]:
    panes, rows = recording.panes, recording.rows
    timings = [(timing, text) for timing, text in _TIMINGS.items() if any(p.timing == timing for p in panes)]
    left, right = recording.sides or ("", "")
    entries = [
        ("row", f"row of {left}" if left else "row", bool(rows)),
        ("right", f"row of {right}", any(row.right for row in rows)),
        ("refused", "row sent to .late", any(row.refused for row in rows)),
        ("watermark", "watermark", any(moment.watermark is not None for moment in recording.moments)),
        ("window", "open window", bool(panes) and recording.windowed),
        *((timing, text, True) for timing, text in timings),
        ("retraction", "removed result" if left else "retraction", any(pane.retraction for pane in panes)),
    ]
    return [(kind, text) for kind, text, shown in entries if shown]


def _icon(kind: str, x: float, y: float) -> list[Mark]:
    if kind in ("row", "right"):
        return [Dot(x + 8, y, "row" if kind == "row" else "row right-row")]
    if kind == "refused":
        return [Dot(x + 8, y, "row refused-row"), Cross(x + 8, y)]
    if kind == "watermark":
        return [Path(((x, y + 4), (x + 8, y + 4), (x + 8, y - 4), (x + 16, y - 4)), "watermark")]
    if kind == "window":
        return [Rect(x, y - 6, 16, 12, "window")]
    if kind == "retraction":
        struck = Path(((x + 3, y), (x + 13, y)), "strike")
        return [Rect(x, y - 6, 16, 12, "pane on_time retraction"), struck]
    return [Rect(x, y - 6, 16, 12, f"pane {kind}")]
