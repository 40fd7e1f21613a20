"""Filters and projections: `where`, `select`, `with_columns` and `drop`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expression_checks import check_columns, check_expressions
from headrace.steps.expressions import Expression, Named, describe_columns, names_of
from headrace.steps.facts import CHANGE, Facts, fixed_after, output_name, source_column, with_columns
from headrace.steps.grammar.step import Slot, StepModel
from headrace.steps.grammar.values import Condition, Expected, NamedExpressions, Names, SelectColumns
from headrace.steps.traits import Finding, unknown_columns

_SAME_ORDER = re.compile(
    r"\s*(?:timestamp_(?:seconds|millis|micros)|timestamp)\(\s*(\w+)\s*\)\s*"
    r"|\s*cast\(\s*(\w+)\s+as\s+timestamp\s*\)\s*",
    re.IGNORECASE,
)
"""Conversions to a timestamp that keep the order of values."""


@dataclass(frozen=True)
class ColumnNode(Node):
    """The base of filters and projections."""

    input: Ref
    row_by_row: ClassVar[bool] = True
    keeps_labels: ClassVar[bool] = True


@dataclass(frozen=True)
class Where(ColumnNode):
    """Keeps the rows that satisfy a condition."""

    condition: Expression
    verb: ClassVar[str] = "where"
    drops_rows: ClassVar[bool] = True

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_expressions([self.condition], plan.facts(self.input).columns, "where")

    def description(self) -> list[str]:
        return [str(self.condition)]


@dataclass(frozen=True)
class Select(ColumnNode):
    """Keeps and computes columns; an unnamed one is Spark SQL text such as `amount * 2 as double`."""

    columns: Named
    verb: ClassVar[str] = "select"
    duplicate_hint: ClassVar[str] = "rename one of them with `as`"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        names = [name or output_name(item) for name, item in self.columns]
        known = tuple(name for name in names if name is not None)
        time = inputs[0].time_column
        times = (name or output_name(item) for name, item in self.columns if source_column(item) == time)
        fixed = fixed_after(inputs[0], zip(names, (item for _, item in self.columns), strict=True))
        return replace(
            fixed,
            columns=known if len(known) == len(names) else None,
            schema=None,
            time_column=next(times, None) if time is not None else None,
            cdc=inputs[0].cdc and any(_passes_change(name, item) for name, item in self.columns),
        )

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_columns(self.columns, plan.facts(self.input).columns, "select")

    def description(self) -> list[str]:
        return [describe_columns(self.columns)]


@dataclass(frozen=True)
class WithColumns(ColumnNode):
    """Adds or replaces columns."""

    columns: Named
    verb: ClassVar[str] = "with_columns"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        ordered = (
            (name, match.group(1) or match.group(2))
            for name, item in self.columns
            if isinstance(item, str) and (match := _SAME_ORDER.fullmatch(item))
        )
        added = with_columns(inputs[0], names_of(self.columns))
        added = replace(added, fixed=_with_fixed(inputs[0], self.columns))
        cdc = added.cdc and CHANGE not in (name.lower() for name, _ in self.columns)
        return replace(added, order_from=(*inputs[0].order_from, *ordered), cdc=cdc)

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_columns(self.columns, plan.facts(self.input).columns, "with_columns")

    def description(self) -> list[str]:
        return [describe_columns(self.columns)]


@dataclass(frozen=True)
class Drop(ColumnNode):
    """Removes columns."""

    columns: tuple[str, ...]
    verb: ClassVar[str] = "drop"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        dropped = {name.lower() for name in self.columns}
        fixed = tuple((name, keys) for name, keys in inputs[0].fixed if name.lower() not in dropped)
        facts = replace(inputs[0], cdc=inputs[0].cdc and CHANGE not in dropped, fixed=fixed)
        if facts.columns is None:
            return facts
        return replace(facts, columns=tuple(name for name in facts.columns if name.lower() not in dropped))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from unknown_columns(self.columns, plan.facts(self.input).columns, "drop", ("drop",))

    def description(self) -> list[str]:
        return [", ".join(self.columns)]


def _with_fixed(facts: Facts, columns: Named) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return `fixed` of rows with added or replaced columns."""
    replaced = {name.lower() for name, _ in columns}
    others = [(name, keys) for name, keys in facts.fixed if name.lower() not in replaced]
    return (*others, *fixed_after(facts, columns).fixed)


def _passes_change(name: str, item: Expression) -> bool:
    """Return True if an item of a select passes on the column `change` of a CDC source, or may do so."""
    if not isinstance(item, str):
        return not name or name.lower() == CHANGE
    if item.strip().startswith("*"):
        return CHANGE not in item.lower()  # `* except (change)`
    shown = name or output_name(item) or ""
    return shown.lower() == CHANGE == (source_column(item) or "").lower()


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
