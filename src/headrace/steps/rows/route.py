"""Named outputs by condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Named


@dataclass(frozen=True)
class Route(Node):
    """Named outputs by condition: a row goes to the first whose condition holds."""

    input: Ref
    branches: Named
    verb: ClassVar[str] = "route"

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.branches)
