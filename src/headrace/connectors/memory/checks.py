"""Checks rows from Python against a schema before Spark reads them, for errors with row number and column.

The checks accept every value that Spark's `from_json` accepts for a type: timestamps may be text, seconds or
datetimes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal as PythonDecimal
from decimal import InvalidOperation
from typing import Any

from headrace.connectors.memory.store import Rows
from headrace.errors import SourceError
from headrace.schemas.datatypes import Array, DataType, Decimal, Map, Struct
from headrace.schemas.fields import Schema

_DATE = re.compile(r"\s*\d{4}(-\d{1,2}(-\d{1,2}([T ].*)?)?)?\s*")
_TIME = re.compile(r"T?\d{1,2}:\d{1,2}.*")
_NOT_A_NUMBER = {"NaN", "INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity"}


def check_rows(rows: Rows, schema: Schema, *, where: str, first: int = 0) -> None:
    """Check that every row fits the schema.

    Args:
        rows: the rows.
        schema: the schema of the source.
        where: the source, for errors.
        first: the number of the first row.

    Raises:
        SourceError: a row has an unknown column, or a value that its column's type cannot hold.
    """
    for number, row in enumerate(rows, first):
        location = f"{where}: row {number}"
        if unknown := sorted(set(row) - set(schema.names)):
            hint = f"the schema is `{schema.ddl}`"
            raise SourceError(f"unknown column `{unknown[0]}`", where=location, hint=hint)
        for field in schema.fields:
            value = row.get(field.name)
            if value is not None and not fits(value, field.type):
                raise SourceError(
                    f"expected {field.type}, got {type(value).__name__} {value!r}",
                    where=f"{location}: column `{field.name}`",
                    hint="rows are counted from 0",
                )


def fits(value: Any, kind: DataType) -> bool:
    """Return True if a column of the type can hold the value; null fits every type.

    >>> column = Schema.of("n int")["n"].type
    >>> fits(1, column), fits("1", column), fits(2**31, column)
    (True, False, False)
    """
    if value is None:
        return True
    if isinstance(kind, Array):
        return isinstance(value, list | tuple) and all(fits(item, kind.element) for item in value)
    if isinstance(kind, Map):
        return isinstance(value, Mapping) and all(fits(item, kind.value) for item in value.values())
    if isinstance(kind, Struct):
        fields = {field.name: field.type for field in kind.fields}
        return isinstance(value, Mapping) and all(fits(value.get(name), fields[name]) for name in fields)
    if isinstance(kind, Decimal):
        return _is_number(value, PythonDecimal, str) and _is_decimal(value)
    check = _SCALARS.get(kind.name)
    return check is None or check(value)


def _is_number(value: Any, *others: type) -> bool:
    return isinstance(value, (int, float, *others)) and not isinstance(value, bool)


def _is_decimal(value: Any) -> bool:
    try:
        return PythonDecimal(str(value)).is_finite()
    except InvalidOperation:
        return False


def _is_integer(value: Any, bits: int) -> bool:
    return _is_number(value) and isinstance(value, int) and -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _is_date(value: Any, *others: re.Pattern[str]) -> bool:
    """Return True for text that begins as a date or time, in any form that Spark accepts."""
    if isinstance(value, datetime):
        return True
    if not isinstance(value, str):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return any(pattern.fullmatch(value) for pattern in (_DATE, *others))
    return True


_SCALARS: dict[str, Callable[[Any], bool]] = {
    "tinyint": lambda value: _is_integer(value, 8),
    "smallint": lambda value: _is_integer(value, 16),
    "int": lambda value: _is_integer(value, 32),
    "bigint": lambda value: _is_integer(value, 64),
    "float": lambda value: _is_number(value) or value in _NOT_A_NUMBER,
    "double": lambda value: _is_number(value) or value in _NOT_A_NUMBER,
    "boolean": lambda value: isinstance(value, bool),
    "binary": lambda value: isinstance(value, str | bytes),
    "date": lambda value: isinstance(value, date) or _is_date(value),
    "timestamp": lambda value: isinstance(value, date) or _is_integer(value, 64) or _is_date(value, _TIME),
    "timestamp_ntz": lambda value: isinstance(value, date) or _is_date(value, _TIME),
}
"""Checks of types without parameters. Text holds any value; Spark parses variants and intervals."""
