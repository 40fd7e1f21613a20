"""Running aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Aggregates, KeyColumns


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


class AggregateModel(StepModel):
    """`aggregate` without `window` in a document."""

    node = Aggregate
    key = "aggregate"
    keys: KeyColumns = Field(default=(), alias="key_by")
    aggregates: Aggregates = Field(alias="aggregate")

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window."""
        return "aggregate" in keys and "window" not in keys
