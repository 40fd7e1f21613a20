"""The types a column can have, as small frozen values that print as Spark's DDL.

They exist so that a schema can be read, checked and printed without pyspark and without a JVM.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: What people write -> what Headrace (and Spark's `simpleString`) prints.
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
#: The units of an interval, coarse to fine; one interval has units of one of the two families.
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
    """Any number of elements of one type, in order."""

    element: DataType

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """Keys to values. JSON can only say text keys."""

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
    """A named, typed place in a row. `nullable=False` makes a record without it a dead letter."""

    name: str
    type: DataType
    nullable: bool = True
    comment: str = ""

    def __str__(self) -> str:
        return self.text()

    def text(self, *, colon: bool = False) -> str:
        """The field as DDL; inside a struct a colon parts name and type."""
        parts = f"{quoted(self.name)}{':' if colon else ' '}{self.type}"
        if not self.nullable:
            parts += " NOT NULL"
        if self.comment:
            escaped = self.comment.replace("\\", "\\\\").replace("'", "\\'")
            parts += f" COMMENT '{escaped}'"
        return parts


def quoted(name: str) -> str:
    """The name as SQL reads it: in backticks unless it is a plain word.

    >>> quoted("card"), quoted("card no")
    ('card', '`card no`')
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`"
