"""Generated rows, or a recording that is replayed at its pace, for demonstrations and load tests.

*Source*: replayable. A generated row is a function of the seed and the row number, so an epoch that is read
again has the same rows. A recording is replayable as long as its files do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, model_validator

from headrace.connectors.base import Carries, Connector, Reader, Role
from headrace.connectors.generator.base import Recipe
from headrace.connectors.generator.recipes import KINDS, parse_recipe
from headrace.connectors.options import PathOption, SchemaOption
from headrace.formats import Schema

_RECIPE: dict[str, Any] = {
    "anyOf": [
        {"enum": sorted(KINDS)},
        {"type": "object", "properties": {name: {} for name in sorted(KINDS)}, "additionalProperties": False},
    ]
}


def _parse_columns(columns: Any) -> dict[str, Recipe]:
    if not isinstance(columns, Mapping):
        raise ValueError("expected a mapping from column to recipe")  # noqa: TRY004 - for pydantic
    recipes = {}
    for name, description in columns.items():
        try:
            recipes[str(name)] = parse_recipe(description)
        except ValueError as error:
            raise ValueError(f"column `{name}`: {error}") from error
    return recipes


def _parse_planted(planted: Any) -> dict[int, dict[str, Any]]:
    try:
        return {int(number): dict(values) for number, values in dict(planted).items()}
    except (TypeError, ValueError):
        raise ValueError(
            "expected a mapping from row number to columns, such as {120: {amount: 900}}"
        ) from None


class Generator(Connector):
    """Rows with a seed, a rate and a recipe per column; or the lines of a recording, at their pace.

    A column without a recipe has one by its type. With `rows` the source ends, and a run over the available
    rows takes all of them, at the `rate` if there is one; without `rows` it takes the rows of one second.
    `planted` sets columns of individual rows, such as a fraud to detect.

    With `replay` the source reads lines of files in their order, each when it is due by the column `time`,
    `speed` times as fast as they were recorded; `format` and `schema` of the source decode them.

    >>> Generator(rows=1000, columns={"n": "sequence", "amount": "lognormal"}).schema_known.ddl
    'n bigint, amount double'
    """

    kind: ClassVar[str] = "generator"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})
    replayable: ClassVar[bool] = True

    seed: int = Field(default=0, description="The seed; another one generates other rows")
    rows: int | None = Field(default=None, ge=0, description="The number of rows; default: no end")
    rate: float | None = Field(
        default=None, gt=0, description="Rows per second; default: as fast as they are read"
    )
    columns: Annotated[
        Mapping[str, Any],
        PlainValidator(_parse_columns),
        PlainSerializer(lambda columns: {name: recipe.as_option for name, recipe in columns.items()}),
        WithJsonSchema({"type": "object", "additionalProperties": _RECIPE}),
    ] = Field(
        default_factory=dict,
        description="The recipe of each column: a name (`lognormal`), or a name with options (`{choice: [a, "
        "b]}`)",
    )
    fields: SchemaOption = Field(
        default=None, alias="schema", description="The columns, as DDL text, a dataclass or a pydantic model"
    )
    planted: Annotated[
        Mapping[int, Mapping[str, Any]], PlainValidator(_parse_planted), WithJsonSchema({"type": "object"})
    ] = Field(default_factory=dict, description="Columns of individual rows, by row number from 0")
    replay: PathOption | None = Field(
        default=None, description="Files with recorded lines, instead of generated rows"
    )
    time: str | None = Field(
        default=None, description="The column of a recording with the time at which a line is due"
    )
    speed: float | Literal["max"] = Field(
        default=1.0,
        description="The factor by which a replay is faster than the recording; `max` does not wait",
    )
    max_rows_per_batch: int | None = Field(
        default=None, ge=1, description="The maximum number of rows per epoch; default: no limit"
    )

    @model_validator(mode="after")
    def _check_options(self) -> Generator:
        if self.replay is None and self.rows is None and self.rate is None:
            raise ValueError("expected `rows`, `rate` or both: rows without end and rate would fill the disk")
        if self.replay is not None and self.rate is None and self.speed != "max" and self.time is None:
            raise ValueError(
                "expected `time`, the column with the time at which a line is due, or speed `max`"
            )
        if self.speed != "max" and self.speed <= 0:
            raise ValueError("expected `speed` to be above 0, or `max`")
        if self.replay is not None and (self.columns or self.planted):
            raise ValueError("a recording has its own columns: leave out `columns` and `planted`")
        return self

    @property
    def carries(self) -> Carries:
        return "rows" if self.replay is None else "bytes"

    @property
    def schema_known(self) -> Schema | None:
        if isinstance(self.fields, Schema):
            return self.fields
        return (
            Schema.of({name: recipe.result for name, recipe in self.columns.items()})
            if self.columns
            else None
        )

    def reader(self) -> Reader:
        from headrace.connectors.generator.source import GeneratorReader

        return GeneratorReader(self)
