"""How the values of a column are made up: each recipe becomes one Spark SQL expression.

A recipe draws from a hash of (seed, column, row number), so a value depends on nothing else: the same row is the same in
every run, on any number of machines, however often it is read again. With `by` it draws from a hash of another column's
value instead, and equal values of that column get equal ones here: the home country of a card, say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from headrace.connectors.generator import places
from headrace.connectors.options import DurationOption
from headrace.durations import microseconds
from headrace.schemas.datatypes import quoted

NUMBER = "__number"
"""The hidden column with the number of the row."""

_BITS = 2**53
_WORD = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|\bnumber\b|\brandom\b(?!\s*\()")


class Recipe(BaseModel):
    """What all recipes have."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    name: ClassVar[str]
    type: ClassVar[str]
    main: ClassVar[str] = ""
    """The option that may be written instead of all options: `{choice: [a, b]}`."""

    by: str | None = Field(
        default=None, description="A column before this one, of whose value this one is a function"
    )
    nulls: float = Field(default=0.0, ge=0, le=1, description="The share of rows that have null here")

    @property
    def result(self) -> str:
        """The type of these values where no schema says another."""
        return self.type

    @property
    def described(self) -> str | dict[str, Any]:
        """What a user would write for it."""
        said = {name: getattr(self, name) for name in self.model_fields_set}
        return {self.name: said} if said else self.name

    def sql(self, column: str, seed: int) -> tuple[list[tuple[str, str]], str]:
        """Hidden columns to make first, by name, and then the expression for a column of this name."""
        draw = Draw(column, seed, quoted(self.by) if self.by else NUMBER)
        value = self.value(draw)
        if self.nulls:
            value = f"if({Draw(column, seed, NUMBER).uniform('null')} < {self.nulls}D, null, {value})"
        return draw.kept, value

    def value(self, draw: Draw) -> str:
        """The expression for a value that is not null."""
        raise NotImplementedError


class Draw:
    """Random numbers for one column, as SQL: the same for the same seed, column, row and salt."""

    def __init__(self, column: str, seed: int, of: str) -> None:
        self.column, self.seed, self.of = column, seed, of
        self.kept: list[tuple[str, str]] = []

    def keep(self, name: str, expression: str) -> str:
        """A hidden column, for what an expression would else repeat; gives its name."""
        hidden = quoted(f"__{self.column}_{name}")
        self.kept.append((hidden, expression))
        return hidden

    def hashed(self, salt: str = "", of: str = "") -> str:
        """A whole number of 64 bits."""
        return f"xxhash64({of or self.of}, {literal(f'{self.column}/{salt}')}, {self.seed}L)"

    def uniform(self, salt: str = "") -> str:
        """A number from 0 to just below 1."""
        return f"(({self.hashed(salt)} & {_BITS - 1}L) / {float(_BITS)!r}D)"

    def normal(self) -> str:
        """A number of the standard normal distribution (Box and Muller's way)."""
        radius = f"sqrt(-2 * ln(1 - {self.uniform('radius')}))"
        return f"({radius} * cos({6.283185307179586!r}D * {self.uniform('angle')}))"


class Sequence_(Recipe):  # noqa: N801 - `Sequence` is a type of Python's own
    """The row's number, counted from `start`, with a prefix if it should be text."""

    name: ClassVar[str] = "sequence"
    type: ClassVar[str] = "bigint"
    main: ClassVar[str] = "start"
    start: int = Field(default=0, description="The number of the first row")
    prefix: str = Field(default="", description="Text before the number")

    @property
    def result(self) -> str:
        return "string" if self.prefix else self.type

    def value(self, draw: Draw) -> str:
        number = f"({NUMBER} + {self.start}L)"
        return f"concat({literal(self.prefix)}, {number})" if self.prefix else number


class Uuid(Recipe):
    """A text in the form of a UUID, different in every row."""

    name: ClassVar[str] = "uuid"
    type: ClassVar[str] = "string"

    def value(self, draw: Draw) -> str:
        digits = f"lower(concat(lpad(hex({draw.hashed('high')}), 16, '0'), lpad(hex({draw.hashed('low')}), 16, '0')))"
        return (
            f"regexp_replace({digits}, '^(.{{8}})(.{{4}}).(.{{3}}).(.{{3}})(.{{12}})$', '$1-$2-4$3-a$4-$5')"
        )


class CardNumber(Recipe):
    """A payment card's number of 16 digits, with a right check digit, out of `count` different ones."""

    name: ClassVar[str] = "card_number"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "count"
    count: int = Field(default=1000, ge=1, description="How many cards there are")

    def value(self, draw: Draw) -> str:
        card = f"pmod({draw.hashed()}, {self.count}L)"
        drawn = f"(400000000000000L + pmod({draw.hashed('card', of=card)}, 99999999999999L))"
        digits = draw.keep("digits", drawn)
        return f"concat({digits}, {_check_digit(digits)})"


class Choice(Recipe):
    """One of some values, with equal chances or with weights."""

    name: ClassVar[str] = "choice"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "of"
    of: Mapping[Any, float] | Sequence[Any] = Field(
        description="A list of values, or a mapping from value to weight"
    )

    @field_validator("of")
    @classmethod
    def _some(cls, of: Any) -> Any:
        if not of or isinstance(of, str):
            raise ValueError("expected a list of values, or a mapping from value to weight")
        if isinstance(of, Mapping) and (min(of.values()) < 0 or sum(of.values()) <= 0):
            raise ValueError("expected weights of 0 or more, not all 0")
        return of

    @property
    def result(self) -> str:
        return _type_of(list(self.of))

    def value(self, draw: Draw) -> str:
        return chosen(self.of, draw)


class Country(Recipe):
    """The two letters of a country; large ones come more often."""

    name: ClassVar[str] = "country"
    type: ClassVar[str] = "string"

    def value(self, draw: Draw) -> str:
        return chosen(places.COUNTRIES, draw)


class City(Recipe):
    """The name of a city."""

    name: ClassVar[str] = "city"
    type: ClassVar[str] = "string"

    def value(self, draw: Draw) -> str:
        return chosen(places.CITIES, draw)


class Integer(Recipe):
    """A whole number, both ends included."""

    name: ClassVar[str] = "integer"
    type: ClassVar[str] = "bigint"
    low: int = Field(default=0, description="The least value")
    high: int = Field(default=100, description="The greatest value")

    @model_validator(mode="after")
    def _in_order(self) -> Integer:
        if self.low > self.high:
            raise ValueError(f"expected low to be at most high, got {self.low} and {self.high}")
        return self

    def value(self, draw: Draw) -> str:
        return f"({self.low}L + pmod({draw.hashed()}, {self.high - self.low + 1}L))"


class Uniform(Recipe):
    """A number, every one between the ends as likely as any other."""

    name: ClassVar[str] = "uniform"
    type: ClassVar[str] = "double"
    low: float = Field(default=0.0, description="The least value")
    high: float = Field(default=1.0, description="Values stay below this one")
    decimals: int = Field(default=2, ge=0, le=12, description="Digits after the point")

    def value(self, draw: Draw) -> str:
        # Rounded down: up would reach the upper end.
        number = f"{self.low!r}D + {draw.uniform()} * {self.high - self.low!r}D"
        return f"floor(({number}) * {10**self.decimals}L) / {10**self.decimals}D"


class Normal(Recipe):
    """A number around a mean: measurements."""

    name: ClassVar[str] = "normal"
    type: ClassVar[str] = "double"
    mean: float = Field(default=0.0, description="The middle")
    deviation: float = Field(default=1.0, ge=0, description="The standard deviation")
    decimals: int = Field(default=2, ge=0, le=12, description="Digits after the point")

    def value(self, draw: Draw) -> str:
        return f"round({self.mean!r}D + {self.deviation!r}D * {draw.normal()}, {self.decimals})"


class LogNormal(Recipe):
    """A positive number, mostly small, now and then large: amounts of money, durations."""

    name: ClassVar[str] = "lognormal"
    type: ClassVar[str] = "double"
    median: float = Field(default=25.0, gt=0, description="Half of the values are below it")
    sigma: float = Field(
        default=1.0, ge=0, description="How wide they spread: 1 puts two thirds within 0.37 to 2.7 medians"
    )
    decimals: int = Field(default=2, ge=0, le=12, description="Digits after the point")

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
    """A time that goes on by `every` from row to row, out of order by less than `jitter`.

    An `out_of_order` of `jitter` in the pipeline's event time is just enough, but for the rows that `late_share` sends
    back by `late_by`.
    """

    name: ClassVar[str] = "timestamp"
    type: ClassVar[str] = "timestamp"
    start: str | datetime = Field(
        default="2026-01-01T00:00:00Z", description="The time of the first row, ISO text; UTC if no zone"
    )
    every: DurationOption = Field(default="1 second", description="From one row to the next")
    jitter: DurationOption = Field(
        default="0 seconds", description="Each row is up to this much later than its turn"
    )
    late_share: float = Field(
        default=0.0, ge=0, le=1, description="The share of rows that are sent back in time"
    )
    late_by: DurationOption = Field(default="10 minutes", description="How far they are sent back")

    @field_validator("start")
    @classmethod
    def _moment(cls, start: str | datetime) -> str:
        try:
            at = start if isinstance(start, datetime) else datetime.fromisoformat(start)
        except ValueError:
            raise ValueError("expected a time such as 2026-01-01T00:00:00Z") from None
        return (
            (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).isoformat().replace("+00:00", "Z")
        )

    def value(self, draw: Draw) -> str:
        moment = datetime.fromisoformat(str(self.start)) - datetime(1970, 1, 1, tzinfo=UTC)
        micros = f"{microseconds(moment)}L + {NUMBER} * {microseconds(self.every)}L"
        if jitter := microseconds(self.jitter):
            micros += f" + pmod({draw.hashed('jitter')}, {jitter}L)"
        if self.late_share:
            micros += (
                f" - if({draw.uniform('late')} < {self.late_share!r}D, {microseconds(self.late_by)}L, 0L)"
            )
        return f"timestamp_micros({micros})"


class Ip(Recipe):
    """An IPv4 address of a private network, out of `count` different ones."""

    name: ClassVar[str] = "ip"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "count"
    count: int = Field(default=1000, ge=1, le=2**24, description="How many addresses there are")

    def value(self, draw: Draw) -> str:
        host = draw.keep("host", f"pmod({draw.hashed()}, {self.count}L)")
        return f"concat_ws('.', '10', {host} div 65536, ({host} div 256) % 256, {host} % 256)"


class Words(Recipe):
    """A few words of English."""

    name: ClassVar[str] = "words"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "count"
    count: int = Field(default=3, ge=1, le=50, description="How many words")

    def value(self, draw: Draw) -> str:
        words = (chosen(places.WORDS, draw, salt=str(n)) for n in range(self.count))
        return f"concat_ws(' ', {', '.join(words)})"


class Constant(Recipe):
    """The same value in every row."""

    name: ClassVar[str] = "constant"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "of"
    of: Any = Field(description="The value")

    @property
    def result(self) -> str:
        return _type_of([self.of])

    def value(self, draw: Draw) -> str:
        return literal(self.of)


class Sql(Recipe):
    """Any Spark SQL expression over the columns before it, the row's `number`, and `random`, a number from 0 to 1."""

    name: ClassVar[str] = "sql"
    type: ClassVar[str] = "string"
    main: ClassVar[str] = "of"
    of: str = Field(min_length=1, description="The expression")

    def value(self, draw: Draw) -> str:
        words = {"number": NUMBER, "random": draw.uniform()}
        return f"({_WORD.sub(lambda found: words.get(found[0], found[0]), self.of)})"


KINDS: dict[str, type[Recipe]] = {
    kind.name: kind
    for kind in (
        *(Boolean, CardNumber, Choice, City, Constant, Country, Integer, Ip, LogNormal, Normal),
        *(Sequence_, Sql, Timestamp, Uniform, Uuid, Words),
    )
}


def literal(value: Any) -> str:
    """A value as SQL.

    >>> literal("it"), literal(1.5), literal(None)
    ("'it'", '1.5D', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value}L" if abs(value) > 2**31 - 1 else str(value)
    if isinstance(value, float):
        return f"{value!r}D"
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def chosen(of: Mapping[Any, float] | Sequence[Any], draw: Draw, salt: str = "") -> str:
    """One of the values, as SQL."""
    if not isinstance(of, Mapping):
        return f"array({', '.join(map(literal, of))})[pmod({draw.hashed(salt)}, {len(of)})]"
    total, reached, cases = float(sum(of.values())), 0.0, []
    values = [value for value, weight in of.items() if weight > 0]
    drawn = draw.keep(f"drawn{salt}", draw.uniform(salt))
    for value in values[:-1]:
        reached += of[value] / total
        cases.append(f"when {drawn} < {reached!r}D then {literal(value)}")
    return f"case {' '.join(cases)} else {literal(values[-1])} end" if cases else literal(values[-1])


def _type_of(values: Sequence[Any]) -> str:
    for kinds, name in ((bool, "boolean"), (int, "bigint"), ((int, float), "double")):
        if all(isinstance(value, kinds) for value in values):
            return name
    return "string"


def _check_digit(digits: str) -> str:
    """Luhn's check digit of a number of 15 digits."""
    terms = []
    for place in range(15):
        digit = f"(({digits} div {10**place}L) % 10)"
        doubled = f"(({digit} * 2) div 10 + ({digit} * 2) % 10)"
        terms.append(doubled if place % 2 == 0 else digit)
    return f"pmod(-({' + '.join(terms)}), 10L)"
