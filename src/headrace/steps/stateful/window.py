"""Aggregates of windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import Named
from headrace.triggers import Emission
from headrace.windows import Window


@dataclass(frozen=True)
class WindowAggregate(Node):
    """Aggregates of windows."""

    input: Ref
    keys: Named
    window: Window
    emission: Emission
    aggregates: Named
    ttl: int | None = None
    """How long after its last row the state of a key is kept; None: for ever."""
    verb: ClassVar[str] = "window"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.emission.late_rows == "divert" else (MAIN,)
