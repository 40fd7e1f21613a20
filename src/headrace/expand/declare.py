"""Rows that are repeated for each grouping set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from annotated_types import MinLen
from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from headrace.expand.check import check_sets
from headrace.steps.base import Plan
from headrace.steps.facts import Facts, with_columns
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import Expected
from headrace.steps.traits import Finding

GROUPING_ID = "grouping_id"
"""The column that names the set of a row: a bit for each column of all sets, 1 if the set lacks it."""


def _as_tuples(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return tuple(
        tuple(each) if isinstance(each, list) else (each,) if isinstance(each, str) else each
        for each in value
    )


Sets = Annotated[
    tuple[tuple[str, ...], ...],
    BeforeValidator(_as_tuples),
    MinLen(1),
    PlainSerializer(lambda sets: [list(each) for each in sets]),
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "minItems": 1}),
    Expected("a list of lists of columns", "such as [[country, city], [country], []]"),
]


@declare
class Expand(StepNode):
    """Repeats each row for every grouping set, with nulls in the columns that the set lacks.

    An aggregate by these columns and `grouping_id` then has a row for each group of each set: totals by city,
    by country and of all rows. `grouping_id` tells a total from a group whose key is null.
    """

    input: Input
    expand: Sets
    """The sets of key columns; `[]` is the set of all rows."""

    verb: ClassVar[str] = "expand"
    key: ClassVar[str] = "expand"
    label: ClassVar[str] = "expand"
    example: ClassVar[str] = "such as expand: [[country, city], [country], []]"
    palette: ClassVar[PaletteEntry] = PaletteEntry("Rows", "Grouping sets", {"expand": None})
    row_by_row: ClassVar[bool] = True
    keeps_labels: ClassVar[bool] = True
    drops_rows: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all sets, in the order in which they first occur."""
        return tuple(dict.fromkeys(name for each in self.expand for name in each))

    def identifier(self, names: tuple[str, ...]) -> int:
        """Return the `grouping_id` of a set: as in Spark, the last column is the lowest bit."""
        bits = enumerate(reversed(self.columns))
        return sum(1 << place for place, name in bits if name not in names)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return replace(with_columns(inputs[0], [GROUPING_ID]), fixed=(), table_key=())

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_sets(self.expand, plan.facts(self.input))

    def description(self) -> list[str]:
        return [f"grouping sets {', '.join('(' + ', '.join(each) + ')' for each in self.expand)}"]
