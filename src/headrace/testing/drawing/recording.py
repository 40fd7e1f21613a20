"""What a picture is drawn from: per line of a script the rows that arrived, the panes that fired, the watermark.

A recording is plain data. It can be made by hand, so that drawing needs no Spark to be tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rows", "watermark", "advance", "restart", "end"]
Timing = Literal["early", "on_time", "late"]
Ends = Literal["[)", "(]", "[]"]
"""Which of its ends are in a window: half open, trailing, and from the first row to the last."""

FOREVER = 2**62
"""The watermark when the input has ended."""


@dataclass(frozen=True)
class Arrival:
    """A row as it arrives: its event time in microseconds (None: it has none), and why it was too late, if it was."""

    at: int | None
    label: str
    refused: str = ""


@dataclass(frozen=True)
class Pane:
    """A pane as it fires; `start` and `end` are None where the window has no bounds."""

    start: int | None
    end: int | None
    label: str
    timing: Timing = "on_time"
    retraction: bool = False


@dataclass(frozen=True)
class Moment:
    """One line of a script: what arrived, what fired, and the watermark after it (None: none yet)."""

    kind: Kind
    label: str
    rows: tuple[Arrival, ...] = ()
    panes: tuple[Pane, ...] = ()
    watermark: int | None = None


@dataclass(frozen=True)
class Recording:
    """A case as it went: its name, what its windowed step declares, and the lines of its script."""

    name: str
    declared: str
    moments: tuple[Moment, ...]
    ends: Ends = "[)"

    def holds(self, pane: Pane, at: int | None) -> bool:
        """Whether a row of this time is in the window of a pane."""
        if at is None:
            return False
        after = pane.start is None or pane.start < at or (pane.start == at and self.ends[0] == "[")
        before = pane.end is None or at < pane.end or (pane.end == at and self.ends[1] == "]")
        return after and before

    @property
    def rows(self) -> tuple[Arrival, ...]:
        return tuple(row for moment in self.moments for row in moment.rows)

    @property
    def panes(self) -> tuple[Pane, ...]:
        return tuple(pane for moment in self.moments for pane in moment.panes)
