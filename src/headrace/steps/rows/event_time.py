"""The time of rows: a column, or a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Expression


@dataclass(frozen=True)
class EventTime(Node):
    """Says which column is event time and how far the watermark stays behind it."""

    input: Ref
    column: str
    out_of_order: int = 0
    idle: int | None = None
    watermark_when: Expression | None = None
    max_ahead: int | None = None
    """Rows further ahead of the clock than this are late (`ahead_of_clock`) and do not move the watermark."""
    verb: ClassVar[str] = "event_time"


@dataclass(frozen=True)
class ClockTime(Node):
    """Time by the clock: of the batch that read the row (`ingestion`) or at the step (`processing`)."""

    input: Ref
    clock: Literal["ingestion", "processing"]
    verb: ClassVar[str] = "clock_time"

    @property
    def column(self) -> str:
        return f"{self.clock}_time"
