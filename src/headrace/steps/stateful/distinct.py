"""Deduplication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Length, Names


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


class DistinctOptions(DocumentModel):
    """The value of `distinct` in a document."""

    label = "distinct"
    example = "such as {on: [id], within: 10 minutes}"
    short = "on"
    on: Names = Field(description="The columns that identify a row")
    within: Length | None = Field(default=None, description="How far apart in event time duplicates can be")


class DistinctModel(StepModel):
    """`distinct` in a document."""

    node = Distinct
    key = "distinct"
    options: DistinctOptions = Field(alias="distinct", description="Drops duplicate rows")
