"""The base of recipes: how the values of a column are generated, as one Spark SQL expression.

A value is a function of the seed, the column and the row number, so a row is the same in every run, on any
number of machines, and when an epoch is read again. With `by`, it is a function of another column instead:
rows with equal values of that column get equal values here, such as the home country of a card.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from headrace.connectors import flatten

NUMBER = "__number"
"""The hidden column with the number of the row."""
_BITS = 2**53


class Recipe(BaseModel):
    """The base of all recipes."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    name: ClassVar[str]
    type: ClassVar[str]
    main: ClassVar[str] = ""
    """The option that may be written instead of a mapping of options: `{choice: [a, b]}`."""

    by: str | None = Field(default=None, description="An earlier column that determines the value")
    nulls: float = Field(default=0.0, ge=0, le=1, description="The share of rows with null")

    @property
    def result(self) -> str:
        """The type of the column if there is no schema."""
        return self.type

    @property
    def as_option(self) -> str | dict[str, Any]:
        """The recipe as a user writes it."""
        options = {name: getattr(self, name) for name in self.model_fields_set}
        return {self.name: options} if options else self.name

    def sql(self, column: str, seed: int) -> str:
        """Return the expression of a column."""
        value = self.value(Draw(column, seed, flatten.quote_name(self.by) if self.by else NUMBER))
        if not self.nulls:
            return value
        return f"if({Draw(column, seed, NUMBER).uniform('null')} < {self.nulls}D, null, {value})"

    def value(self, draw: Draw) -> str:
        """Return the expression of a value that is not null."""
        raise NotImplementedError


class Draw:
    """Pseudo-random numbers of one column as SQL, determined by the seed, the column, `of` and a salt."""

    def __init__(self, column: str, seed: int, of: str) -> None:
        self.column, self.seed, self.of = column, seed, of

    def hash_number(self, salt: str = "") -> str:
        """Return a 64-bit integer."""
        return f"xxhash64({self.of}, {literal(f'{self.column}/{salt}')}, {self.seed}L)"

    def uniform(self, salt: str = "") -> str:
        """Return a number from 0 to just below 1."""
        return f"(({self.hash_number(salt)} & {_BITS - 1}L) / {float(_BITS)!r}D)"

    def normal(self) -> str:
        """Return a number of the standard normal distribution (Box-Muller transform)."""
        radius = f"sqrt(-2 * ln(1 - {self.uniform('radius')}))"
        return f"({radius} * cos({6.283185307179586!r}D * {self.uniform('angle')}))"


def literal(value: Any) -> str:
    """Return a value as an SQL literal.

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
    return flatten.literal(value.isoformat() if isinstance(value, datetime) else str(value))
