"""Aggregates of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from headrace.durations import text as duration_text
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.triggers import EmitValue
from headrace.steps.grammar.values import Aggregates, KeyColumns, Length
from headrace.steps.grammar.windows import WindowValue
from headrace.triggers import Emission
from headrace.windows import Window, state_ttl


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


class WindowAggregateModel(StepModel):
    """`window`, `emit` and `aggregate` in a document."""

    node = WindowAggregate
    key = "aggregate"
    keys: KeyColumns = Field(default=(), alias="key_by")
    window: WindowValue = Field(description="Groups by time or by order")
    emission: EmitValue = Field(
        default=Emission(),
        alias="emit",
        description="When windows emit results, and how these refine each other",
    )
    ttl: Length | None = Field(
        default=None, description="Expires the state of a key this long after its last row"
    )
    aggregates: Aggregates = Field(alias="aggregate")

    def check(self) -> None:
        state_ttl(None if self.ttl is None else duration_text(self.ttl))

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True with a window."""
        return "aggregate" in keys and "window" in keys
