"""Running aggregates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Named


@dataclass(frozen=True)
class Aggregate(Node):
    """A running aggregate: one row for each key, brought up to date with every batch."""

    input: Ref
    keys: Named
    aggregates: Named
    verb: ClassVar[str] = "aggregate"

    @property
    def stateful(self) -> bool:
        return True
