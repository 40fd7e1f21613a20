"""Convert values of a script to the types of a schema: times in seconds or ISO text, records as rows or text.

A value that does not fit its column is an error with line and column.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import Any

from headrace.errors import did_you_mean
from headrace.formats import Format
from headrace.formats.csv import Csv
from headrace.schemas.datatypes import Array, DataType, Decimal, Map, Struct
from headrace.schemas.fields import Schema
from headrace.yaml.errors import ErrorCollector, raise_problem
from headrace.yaml.positions import Fields, Items, Scalar, Value

Json = Any
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANGES = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_TIME_HINT = "write seconds since 1970, such as 12.5, or ISO text, such as 2026-11-15T10:00:00Z"


def row_of(value: Value, schema: Schema, errors: ErrorCollector) -> dict[str, Json]:
    """Convert a row of a script to a JSON object; missing columns are null."""
    if not isinstance(value, Fields):
        raise_problem(value.where, f"expected a row of columns, got {value}", "such as {k: a, v: 1}")
    row = {}
    for name in value:
        if name not in schema.names:
            hint = did_you_mean(name, schema.names)
            errors.add(value.key_at(name), f"unknown column of the source `{name}`", hint)
        else:
            row[name] = errors.attempt(value_of, value[name], schema[name].type)
    return row


def record_of(value: Value, format_: Format, schema: Schema, errors: ErrorCollector) -> bytes:
    """Return the bytes of a record: text, or a row written in the format of the source."""
    if isinstance(value, Scalar):
        if value.value is None:
            raise_problem(value.where, "expected a record, got nothing", 'write its text, such as "1,a"')
        return value.text.encode()
    row = row_of(value, schema, errors)
    if isinstance(format_, Csv):
        return _csv_line(row, schema, format_).encode()
    if format_.name in ("text", "raw"):
        content = row.get(schema.names[0]) or ""
        return base64.b64decode(content) if format_.name == "raw" else str(content).encode()
    return json.dumps(row).encode()


def value_of(value: Value, kind: DataType) -> Json:
    """Convert a value to JSON that Spark parses as this type."""
    if isinstance(value, Scalar) and value.value is None:
        return None
    if isinstance(kind, Array):
        return [value_of(item, kind.element) for item in _items(value, kind)]
    if isinstance(kind, Map):
        entries = _fields(value, kind)
        return {key: value_of(entries[key], kind.value) for key in entries}
    if isinstance(kind, Struct):
        return (
            _struct_of_items(value, kind) if isinstance(value, Items) else _struct(_fields(value, kind), kind)
        )
    if not isinstance(value, Scalar):
        raise_problem(value.where, f"expected {kind}, got {value}")
    if isinstance(kind, Decimal):
        return _decimal(value, kind)
    return _SCALARS.get(kind.name, _as_text)(value, kind)


def micros_of(value: Value) -> int:
    """Parse a time, in seconds or ISO text (default zone: UTC), to microseconds since 1970."""
    if not isinstance(value, Scalar):
        raise_problem(value.where, f"expected a time, got {value}", _TIME_HINT)
    micros = micros_of_plain(value.value)
    if micros is None:
        raise_problem(value.where, f"expected a time, got {value}", _TIME_HINT)
    return micros


def micros_of_plain(value: object) -> int | None:
    """Parse a plain value to microseconds; None if it is not a time.

    >>> micros_of_plain(1.5), micros_of_plain("1970-01-01T00:00:02Z"), micros_of_plain("soon")
    (1500000, 2000000, None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        exact = Number(str(value)) * 1_000_000
        return int(exact) if exact.is_finite() and exact == int(exact) else None
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (read.replace(tzinfo=read.tzinfo or UTC) - EPOCH) // timedelta(microseconds=1)


def iso(micros: int) -> str:
    """Format microseconds since 1970 as ISO text, or as seconds if the year has more than four digits."""
    try:
        return (EPOCH + timedelta(microseconds=micros)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{Number(micros) / 1_000_000} s"


def _timestamp(value: Scalar, kind: DataType) -> Json:
    micros = micros_of(value)
    try:
        text = (EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%S.%f").zfill(26)
    except OverflowError:
        raise_problem(value.where, f"expected a time in the years 1 to 9999, got {value}", _TIME_HINT)
    return text if str(kind) == "timestamp_ntz" else f"{text}Z"


def _date(value: Scalar, kind: DataType) -> Json:
    try:
        return date.fromisoformat(value.text).isoformat()
    except ValueError:
        raise_problem(value.where, f"expected a date, got {value}", "such as 2026-11-15")


def _whole(value: Scalar, kind: DataType) -> Json:
    limit = 2 ** _RANGES[str(kind)]
    if isinstance(value.value, bool) or not isinstance(value.value, int):
        raise_problem(value.where, f"expected {kind}, got {value}")
    if not -limit <= value.value < limit:
        raise_problem(value.where, f"expected {kind}, got {value}, which is out of range")
    return value.value


def _floating(value: Scalar, kind: DataType) -> Json:
    if isinstance(value.value, bool) or not isinstance(value.value, int | float):
        raise_problem(value.where, f"expected {kind}, got {value}")
    finite = value.value - value.value == 0
    return value.value if finite else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value.value), "NaN")


def _boolean(value: Scalar, kind: DataType) -> Json:
    if not isinstance(value.value, bool):
        raise_problem(value.where, f"expected true or false, got {value}")
    return value.value


def _binary(value: Scalar, kind: DataType) -> Json:
    return base64.b64encode(value.text.encode()).decode()


def _as_text(value: Scalar, kind: DataType) -> Json:
    return value.text


def _decimal(value: Scalar, kind: Decimal) -> Json:
    try:
        number = Number(value.text)
    except InvalidOperation:
        raise_problem(value.where, f"expected {kind}, got {value}")
    whole = kind.precision - kind.scale
    if not number.is_finite() or number != round(number, kind.scale) or abs(number) >= 10**whole:
        raise_problem(value.where, f"expected {kind}, got {value}, which has too many digits")
    return str(number)


def _items(value: Value, kind: DataType) -> tuple[Value, ...]:
    if not isinstance(value, Items):
        raise_problem(value.where, f"expected {kind}, got {value}", "write a list: [1, 2]")
    return value.items


def _fields(value: Value, kind: DataType) -> Fields:
    if not isinstance(value, Fields):
        raise_problem(value.where, f"expected {kind}, got {value}", "write a mapping: {a: 1}")
    return value


def _struct(value: Fields, kind: Struct) -> Json:
    inside = {field.name: field.type for field in kind.fields}
    for name in value:
        if name not in inside:
            raise_problem(value.key_at(name), f"unknown field `{name}` in {kind}", did_you_mean(name, inside))
    return {name: value_of(value[name], inside[name]) for name in value}


def _struct_of_items(value: Items, kind: Struct) -> Json:
    """Return a struct whose values are written as a list, in the order of its fields."""
    if len(value.items) != len(kind.fields):
        what = f"expected the {len(kind.fields)} values of {kind}, got a list of {len(value.items)}"
        raise_problem(value.where, what, "write a value for each field, or a mapping: {a: 1}")
    return {
        field.name: value_of(item, field.type) for field, item in zip(kind.fields, value.items, strict=True)
    }


def _csv_line(row: dict[str, Json], schema: Schema, format_: Csv) -> str:
    line = io.StringIO()
    writer = csv.writer(line, delimiter=format_.delimiter, quotechar=format_.quote, lineterminator="")
    writer.writerow([_csv_value(row.get(name), format_) for name in schema.names])
    return line.getvalue()


def _csv_value(value: Json, format_: Csv) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_.null_text if value is None else str(value)


_SCALARS: dict[str, Callable[[Scalar, DataType], Json]] = {
    **dict.fromkeys(_RANGES, _whole),
    "float": _floating,
    "double": _floating,
    "boolean": _boolean,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp,
}
