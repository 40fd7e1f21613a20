"""Deduplication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.steps.base import MAIN, Node, Ref


@dataclass(frozen=True)
class Distinct(Node):
    """Drops rows that repeat the columns `on` of a kept row less than `within` apart."""

    input: Ref
    on: tuple[str, ...]
    within: int | None = None
    verb: ClassVar[str] = "distinct"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "late") if self.within is not None else (MAIN,)
