"""The base of `match` and `match_rules`: their order and their side outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from headrace.durations import text
from headrace.errors import require_choice
from headrace.steps.base import MAIN, Plan, out_of_order
from headrace.steps.facts import Facts
from headrace.steps.keyed import KeyedNode
from headrace.steps.traits import RealTimeNote
from headrace.steps.unrouted import note_stateful
from headrace.triggers import LateRows
from headrace.windows import Order


@dataclass(frozen=True)
class KeyedPattern(KeyedNode):
    """Finds patterns in the rows of each key; timeouts and late rows are side outputs, or only counted."""

    order: Order = field(default="event_time", kw_only=True)
    late_rows: LateRows = field(default="divert", kw_only=True)
    timeouts: LateRows = field(default="divert", kw_only=True)
    needs_time = True
    finds_patterns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        where = f"`{self.name}`"
        require_choice(self.order, Order, "order", where)
        require_choice(self.late_rows, LateRows, "late_rows", where)
        require_choice(self.timeouts, LateRows, "timeouts", where)

    @property
    def outputs(self) -> tuple[str, ...]:
        choices = (("timeouts", self.timeouts), ("late", self.late_rows))
        return (MAIN, *(output for output, choice in choices if choice == "divert"))

    @property
    def counted(self) -> list[str]:
        """The side outputs whose rows are only counted."""
        return [output for output in ("timeouts", "late") if output not in self.outputs]

    def fires_by_clock(self, facts: Facts) -> bool:
        return facts.by_clock

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def describe_buffer(self, plan: Plan) -> str:
        """Describe the rows that wait for the watermark; empty if none do."""
        behind = out_of_order(plan, self)
        return f", and rows up to {text(behind)} behind" if behind and self.order != "arrival" else ""

    def describe_counted(self) -> Iterator[str]:
        """Describe the side outputs whose rows are only counted."""
        rows = {"timeouts": "timeouts", "late": "late rows"}
        return (f"{rows[output]} are only counted" for output in self.counted)
