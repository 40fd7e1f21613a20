"""Column types as frozen values that print as Spark's DDL, without pyspark and without a JVM."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Names of types, with the canonical name that Spark's `simpleString` prints.
SCALARS = {
    "string": "string",
    "binary": "binary",
    "boolean": "boolean",
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "variant": "variant",
}
#: The units of intervals, coarse to fine; an interval has units of one of the two families.
INTERVAL_UNITS = (("year", "month"), ("day", "hour", "minute", "second"))


@dataclass(frozen=True)
class Scalar:
    """A type without parameters; `name` is the canonical one (`bigint`, not `long`)."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal:
    """An exact number of `precision` digits, `scale` of them after the point."""

    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array:
    """A list of elements of one type."""

    element: DataType

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """A mapping; JSON supports only text keys."""

    key: DataType
    value: DataType

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class Struct:
    """Named fields inside one column."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"struct<{','.join(field.text(colon=True) for field in self.fields)}>"


DataType = Scalar | Decimal | Array | Map | Struct


@dataclass(frozen=True)
class Field:
    """A named, typed column or struct field. With `nullable=False`, a record without it is a dead letter."""

    name: str
    type: DataType
    nullable: bool = True
    comment: str = ""

    def __str__(self) -> str:
        return self.text()

    def text(self, *, colon: bool = False) -> str:
        """Return the field as DDL; inside a struct a colon separates name and type."""
        parts = f"{quote_name(self.name)}{':' if colon else ' '}{self.type}"
        if not self.nullable:
            parts += " NOT NULL"
        if self.comment:
            escaped = self.comment.replace("\\", "\\\\").replace("'", "\\'")
            parts += f" COMMENT '{escaped}'"
        return parts


def quote_name(name: str) -> str:
    """Return the name for SQL: in backticks unless it is a plain identifier.

    >>> quote_name("card"), quote_name("card no")
    ('card', '`card no`')
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`"
