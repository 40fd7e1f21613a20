"""The data of a time line: per script line the rows that arrived, the panes that fired, and the watermark.

The results of a join are panes that reach from one of their rows to the other.

A recording is plain data, so that drawing can be tested without Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rows", "watermark", "advance", "restart", "end"]
Timing = Literal["early", "on_time", "late", "joined", "unmatched"]
Ends = Literal["[)", "(]", "[]"]
"""Inclusive ends of a window: half-open, trailing, and from the first row to the last."""

FOREVER = 2**62
"""The watermark when the input has ended."""


@dataclass(frozen=True)
class Arrival:
    """An arriving row: its event time in microseconds (None: missing), and the reason if it is late."""

    at: int | None
    label: str
    refused: str = ""
    right: bool = False
    """True for a row of the right input of a join."""


@dataclass(frozen=True)
class Pane:
    """A fired pane; `start` and `end` are None for a window without bounds."""

    start: int | None
    end: int | None
    label: str
    timing: Timing = "on_time"
    retraction: bool = False
    by_watermark: bool = False
    """True for a result of a join that waits for the watermark."""


@dataclass(frozen=True)
class Moment:
    """One script line: arrivals, fired panes, and the watermark after it (None: none yet)."""

    kind: Kind
    label: str
    rows: tuple[Arrival, ...] = ()
    panes: tuple[Pane, ...] = ()
    watermark: int | None = None


@dataclass(frozen=True)
class Recording:
    """A recorded case: its name, the declaration of its step, and its script lines."""

    name: str
    declared: str
    moments: tuple[Moment, ...]
    ends: Ends = "[)"
    sides: tuple[str, str] | None = None
    """The names of the inputs of a join."""
    windowed: bool = True
    """False if panes are the results of a join without a window."""

    def holds(self, pane: Pane, at: int | None) -> bool:
        """Return true if a row of this time belongs to the window of a pane."""
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
