"""The recipes by name: how the values of a column are generated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationError, field_validator, model_validator

from headrace.access.options import SqlExpression
from headrace.connectors.generator.base import NUMBER, Draw, Recipe, literal
from headrace.connectors.options import DurationOption
from headrace.durations import microseconds
from headrace.errors import did_you_mean
from headrace.formats.option_problems import first_problem

_VARIABLE = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|`[^`]*(?:`|\Z)|\bnumber\b|\brandom\b(?!\s*\()")


class RowNumber(Recipe):
    """The number of the row, counted from `start`; text if there is a prefix."""

    name: ClassVar[str] = "sequence"
    type: ClassVar[str] = "bigint"
    main: ClassVar[str] = "start"
    start: int = Field(default=0, description="The number of the first row")
    prefix: str = Field(default="", description="Text before the number")

    @property
    def result(self) -> str:
        return "string" if self.prefix else self.type

    def value(self, draw: Draw) -> str:
        return _with_prefix(self.prefix, f"({NUMBER} + {self.start}L)")


class Choice(Recipe):
    """One of several values, with equal chances or with weights."""

    name: ClassVar[str] = "choice"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "of"
    of: Mapping[Any, float] | Sequence[Any] = Field(
        description="A list of values, or a mapping from value to weight"
    )

    @field_validator("of")
    @classmethod
    def _check_values(cls, of: Any) -> Any:
        if not of or isinstance(of, str):
            raise ValueError("expected a list of values, or a mapping from value to weight")
        if isinstance(of, Mapping) and (min(of.values()) < 0 or sum(of.values()) <= 0):
            raise ValueError("expected weights of 0 or more, not all 0")
        return of

    @property
    def result(self) -> str:
        return _common_type(list(self.of))

    def value(self, draw: Draw) -> str:
        if not isinstance(self.of, Mapping):
            return f"array({', '.join(map(literal, self.of))})[pmod({draw.hash_number()}, {len(self.of)})]"
        total, bound, cases = float(sum(self.of.values())), 0.0, []
        values = [value for value, weight in self.of.items() if weight > 0]
        for value in values[:-1]:
            bound += self.of[value] / total
            cases.append(f"when {draw.uniform()} < {bound!r}D then {literal(value)}")
        return f"case {' '.join(cases)} else {literal(values[-1])} end" if cases else literal(values[-1])


class Integer(Recipe):
    """A whole number between two bounds, both included; text such as `card-7` if there is a prefix."""

    name: ClassVar[str] = "integer"
    type: ClassVar[str] = "bigint"
    low: int = Field(default=0, description="The lowest value")
    high: int = Field(default=100, description="The highest value")
    prefix: str = Field(default="", description="Text before the number")

    @model_validator(mode="after")
    def _check_bounds(self) -> Integer:
        if self.low > self.high:
            raise ValueError(f"expected low to be at most high, got {self.low} and {self.high}")
        return self

    @property
    def result(self) -> str:
        return "string" if self.prefix else self.type

    def value(self, draw: Draw) -> str:
        number = f"({self.low}L + pmod({draw.hash_number()}, {self.high - self.low + 1}L))"
        return _with_prefix(self.prefix, number)


class Uniform(Recipe):
    """A number of the uniform distribution."""

    name: ClassVar[str] = "uniform"
    type: ClassVar[str] = "double"
    low: float = Field(default=0.0, description="The lowest value")
    high: float = Field(default=1.0, description="The upper bound, not included")
    decimals: int = Field(default=2, ge=0, le=12, description="The number of decimal places")

    def value(self, draw: Draw) -> str:
        # Rounded down, because rounding up would reach the upper bound.
        number = f"{self.low!r}D + {draw.uniform()} * {self.high - self.low!r}D"
        return f"floor(({number}) * {10**self.decimals}L) / {10**self.decimals}D"


class Normal(Recipe):
    """A number of the normal distribution: measurements."""

    name: ClassVar[str] = "normal"
    type: ClassVar[str] = "double"
    mean: float = Field(default=0.0, description="The mean")
    deviation: float = Field(default=1.0, ge=0, description="The standard deviation")
    decimals: int = Field(default=2, ge=0, le=12, description="The number of decimal places")

    def value(self, draw: Draw) -> str:
        return f"round({self.mean!r}D + {self.deviation!r}D * {draw.normal()}, {self.decimals})"


class LogNormal(Recipe):
    """A positive number of the log-normal distribution: amounts of money, durations."""

    name: ClassVar[str] = "lognormal"
    type: ClassVar[str] = "double"
    median: float = Field(default=25.0, gt=0, description="The median")
    sigma: float = Field(
        default=1.0, ge=0, description="The spread: with 1, two thirds are within 0.37 to 2.7 medians"
    )
    decimals: int = Field(default=2, ge=0, le=12, description="The number of decimal places")

    def value(self, draw: Draw) -> str:
        return f"round({self.median!r}D * exp({self.sigma!r}D * {draw.normal()}), {self.decimals})"


class Boolean(Recipe):
    """True for a share of the rows."""

    name: ClassVar[str] = "boolean"
    type: ClassVar[str] = "boolean"
    main: ClassVar[str] = "share"
    share: float = Field(default=0.5, ge=0, le=1, description="The share of rows that are true")

    def value(self, draw: Draw) -> str:
        return f"({draw.uniform()} < {self.share!r}D)"


class Timestamp(Recipe):
    """A time that advances by `every` per row, out of order by less than `jitter`.

    An event time with `out_of_order` of `jitter` has no late rows, except those that `late_share` moves back
    by `late_by`.
    """

    name: ClassVar[str] = "timestamp"
    type: ClassVar[str] = "timestamp"
    start: str | datetime = Field(
        default="2026-01-01T00:00:00Z",
        description="The time of the first row in ISO form; UTC without a zone",
    )
    every: DurationOption = Field(default="1 second", description="The time between two rows")
    jitter: DurationOption = Field(default="0 seconds", description="The bound of a random delay of each row")
    late_share: float = Field(default=0.0, ge=0, le=1, description="The share of rows that are moved back")
    late_by: DurationOption = Field(default="10 minutes", description="How far they are moved back")

    @field_validator("start")
    @classmethod
    def _parse_start(cls, start: str | datetime) -> str:
        try:
            at = start if isinstance(start, datetime) else datetime.fromisoformat(start)
        except ValueError:
            raise ValueError("expected a time such as 2026-01-01T00:00:00Z") from None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z")

    def value(self, draw: Draw) -> str:
        start = datetime.fromisoformat(str(self.start)) - datetime(1970, 1, 1, tzinfo=UTC)
        micros = f"{microseconds(start)}L + {NUMBER} * {microseconds(self.every)}L"
        if jitter := microseconds(self.jitter):
            micros += f" + pmod({draw.hash_number('jitter')}, {jitter}L)"
        if self.late_share:
            micros += (
                f" - if({draw.uniform('late')} < {self.late_share!r}D, {microseconds(self.late_by)}L, 0L)"
            )
        return f"timestamp_micros({micros})"


class Sql(Recipe):
    """A Spark SQL expression over the columns before it, `number` (of the row) and `random` (0 to 1)."""

    name: ClassVar[str] = "sql"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "of"
    of: Annotated[str, SqlExpression()] = Field(min_length=1, description="The expression")

    def value(self, draw: Draw) -> str:
        variables = {"number": NUMBER, "random": draw.uniform()}
        return f"({_VARIABLE.sub(lambda match: variables.get(match[0], match[0]), self.of)})"


KINDS: dict[str, type[Recipe]] = {
    kind.name: kind
    for kind in (Boolean, Choice, Integer, LogNormal, Normal, RowNumber, Sql, Timestamp, Uniform)
}
_DEFAULTS = {
    "boolean": "boolean",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
    "date": "timestamp",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "uniform"),
    "string": {"integer": {"prefix": "v-"}},
}
"""The recipe of a column without one, by its type."""


def parse_recipe(description: Any) -> Recipe:
    """Return the recipe of a description: a name, a name with options, or a recipe.

    Raises:
        ValueError: there is no such recipe, or an option is invalid.

    >>> parse_recipe({"choice": ["card", "cash"]}).of
    ['card', 'cash']
    """
    if isinstance(description, Recipe):
        return description
    if isinstance(description, str):
        return _build(description, {})
    if isinstance(description, Mapping) and len(description) == 1:
        [(name, options)] = description.items()
        return _build(str(name), options)
    raise ValueError("expected a recipe such as `lognormal`, or {choice: [a, b]}")


def default_recipe(column_type: str) -> Recipe | None:
    """Return the recipe of a column without one; None for arrays, maps and structs."""
    description = _DEFAULTS.get(column_type.partition("(")[0])
    return None if description is None else parse_recipe(description)


def _build(name: str, options: Any) -> Recipe:
    if name not in KINDS:
        raise ValueError(f"unknown recipe `{name}` ({did_you_mean(name, KINDS)})")
    kind, options = KINDS[name], {} if options is None else options
    weights = kind is Choice and isinstance(options, Mapping) and "of" not in options
    if kind.main and (weights or not isinstance(options, Mapping)):
        options = {kind.main: options}
    if not isinstance(options, Mapping):
        raise ValueError(f"expected the options of `{name}`, got {options!r}")  # noqa: TRY004 - for pydantic
    try:
        return kind(**options)
    except ValidationError as error:
        problem = first_problem(kind, error, where=name)
        raise ValueError(f"{problem.where}: {problem.what}") from error


def _with_prefix(prefix: str, number: str) -> str:
    return f"concat({literal(prefix)}, {number})" if prefix else number


def _common_type(values: Sequence[Any]) -> str:
    for kinds, name in ((bool, "boolean"), (int, "bigint"), ((int, float), "double")):
        if all(isinstance(value, kinds) for value in values):
            return name
    return "string"
