"""Filters and projections: `where`, `select`, `with_columns` and `drop`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Expression, Named
from headrace.steps.grammar.step import Slot, StepModel
from headrace.steps.grammar.values import Condition, Expected, NamedExpressions, Names, SelectColumns


@dataclass(frozen=True)
class Where(Node):
    """Keeps the rows that satisfy a condition."""

    input: Ref
    condition: Expression
    verb: ClassVar[str] = "where"


@dataclass(frozen=True)
class Select(Node):
    """Keeps and computes columns; an unnamed one is Spark SQL text such as `amount * 2 as double`."""

    input: Ref
    columns: Named
    verb: ClassVar[str] = "select"


@dataclass(frozen=True)
class WithColumns(Node):
    """Adds or replaces columns."""

    input: Ref
    columns: Named
    verb: ClassVar[str] = "with_columns"


@dataclass(frozen=True)
class Drop(Node):
    """Removes columns."""

    input: Ref
    columns: tuple[str, ...]
    verb: ClassVar[str] = "drop"


class WhereModel(StepModel):
    """`where` in a document."""

    node = Where
    key = "where"
    slot = Slot.WHERE
    condition: Condition = Field(alias="where", description="Keeps rows that satisfy a condition")


class WithColumnsModel(StepModel):
    """`with_columns` in a document."""

    node = WithColumns
    key = "with_columns"
    slot = Slot.WITH_COLUMNS
    columns: Annotated[
        NamedExpressions, Expected("names and expressions", "such as {double: amount * 2}")
    ] = Field(alias="with_columns", description="Adds or replaces columns")


class SelectModel(StepModel):
    """`select` in a document."""

    node = Select
    key = "select"
    slot = Slot.SELECT
    columns: SelectColumns = Field(alias="select", description="Keeps and computes columns")


class DropModel(StepModel):
    """`drop` in a document."""

    node = Drop
    key = "drop"
    slot = Slot.DROP
    columns: Names = Field(alias="drop", description="Removes columns")
