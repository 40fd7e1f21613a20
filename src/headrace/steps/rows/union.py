"""A union of streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import Node, Ref


@dataclass(frozen=True)
class Union(Node):
    """All rows of several streams; columns are matched by name."""

    streams: tuple[Ref, ...]
    verb: ClassVar[str] = "union"

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return self.streams
