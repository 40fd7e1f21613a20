"""Made-up rows, or recorded ones replayed: a source that needs nothing but itself.

*Source*: replayable. A made-up row is a function of the seed and its number, so an epoch that is read again has the
same rows, in this process or the next. A recording is replayable as long as its files don't change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from headrace.connectors.base import Carries, Connector, Reader, Role
from headrace.connectors.generator.kitchen import recipe
from headrace.connectors.generator.recipes import KINDS, Recipe
from headrace.connectors.options import PathOption, SchemaOption
from headrace.formats import Schema

_RECIPE: dict[str, Any] = {
    "anyOf": [
        {"enum": sorted(KINDS)},
        {"type": "object", "properties": {name: {} for name in sorted(KINDS)}, "additionalProperties": False},
    ]
}


def _columns(given: Any) -> dict[str, Recipe]:
    if not isinstance(given, Mapping):
        raise ValueError("expected a mapping from column to recipe")  # noqa: TRY004 - pydantic's word for it
    made = {}
    for name, described in given.items():
        try:
            made[str(name)] = recipe(described)
        except ValueError as error:
            raise ValueError(f"column `{name}`: {error}") from error
    return made


def _planted(given: Any) -> dict[int, dict[str, Any]]:
    try:
        return {int(number): dict(values) for number, values in dict(given).items()}
    except (TypeError, ValueError):
        raise ValueError(
            "expected a mapping from row number to columns, such as {120: {amount: 900}}"
        ) from None


class Generator(Connector):
    """Rows with a seed, a pace and a recipe for each column; or the lines of a recording, at their pace.

    A column without a recipe gets one by its name and type. With `rows` the source ends: `--once` and `--drain` then
    take all of them, at the `rate` if there is one; without `rows`, `--once` takes one second's worth. `planted` sets
    columns of single rows, to have something to find.

    With `replay` the lines of files are given out when they are due by the column `time`, `speed` times as fast as
    they were recorded, in the order they stand in, disorder included; `format` and `schema` of the source decode them.

    >>> Generator(rows=1000, columns={"card": {"card_number": 50}, "amount": "lognormal"}).schema_known.ddl
    'card string, amount double'
    """

    kind: ClassVar[str] = "generator"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})

    seed: int = Field(default=0, description="Another seed gives other rows")
    rows: int | None = Field(
        default=None, ge=0, description="How many rows there are in all; without it there is no end"
    )
    rate: float | None = Field(
        default=None, gt=0, description="Rows a second; without it as fast as they are taken"
    )
    columns: Annotated[
        Mapping[str, Any],
        PlainValidator(_columns),
        PlainSerializer(lambda columns: {name: made.described for name, made in columns.items()}),
        WithJsonSchema({"type": "object", "additionalProperties": _RECIPE}),
    ] = Field(
        default_factory=dict,
        description="How each column is made up: a recipe's name (`country`), or a name with options (`{choice: [a, b]}`)",
    )
    fields: SchemaOption = Field(
        default=None, alias="schema", description="The columns, as DDL text, a dataclass or a pydantic model"
    )
    planted: Annotated[
        Mapping[int, Mapping[str, Any]], PlainValidator(_planted), WithJsonSchema({"type": "object"})
    ] = Field(default_factory=dict, description="Columns of single rows, by row number from 0 on")
    replay: PathOption | None = Field(
        default=None, description="Files with recorded lines, instead of made-up rows"
    )
    time: str | None = Field(
        default=None, description="The column of a recording that says when a line is due"
    )
    speed: float | Literal["max"] = Field(
        default=1.0, description="How much faster than recorded; `max` doesn't wait at all"
    )
    max_rows_per_batch: int | None = Field(
        default=None, ge=1, description="The most rows that one epoch reads"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Generator:
        if self.replay is None and self.rows is None and self.rate is None:
            raise ValueError(
                "expected `rows`, `rate` or both: endless rows without a pace would fill the machine"
            )
        if self.replay is not None and self.rate is None and self.speed != "max" and self.time is None:
            raise ValueError(
                "expected `time`, the column that says when a recorded line is due, or speed `max`"
            )
        if self.speed != "max" and self.speed <= 0:
            raise ValueError("expected `speed` to be above 0, or `max`")
        if self.replay is not None and (self.columns or self.planted):
            raise ValueError("a recording has its own columns: leave out `columns` and `planted`")
        return self

    @property
    def replayable(self) -> bool:
        return True

    @property
    def carries(self) -> Carries:
        return "rows" if self.replay is None else "bytes"

    @property
    def schema_known(self) -> Schema | None:
        if isinstance(self.fields, Schema):
            return self.fields
        return Schema.of({name: made.result for name, made in self.columns.items()}) if self.columns else None

    def reader(self) -> Reader:
        from headrace.connectors.generator.source import GeneratorReader

        return GeneratorReader(self)
