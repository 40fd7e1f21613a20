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
    verb: ClassVar[str] = "window"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.emission.late_rows == "divert" else (MAIN,)
