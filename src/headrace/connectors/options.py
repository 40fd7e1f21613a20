"""Types of options that several connectors share: the values that users write, and their validated form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from headrace import formats
from headrace.errors import OptionError, SchemaError
from headrace.formats import Format, Schema
from headrace.formats.option_types import DurationOption as DurationOption
from headrace.formats.option_types import PathOption as PathOption
from headrace.formats.option_types import RetryTimeoutOption as RetryTimeoutOption
from headrace.formats.option_types import seconds_of as seconds_of


def _parse_format(description: Any) -> Format | None:
    try:
        return None if description is None else formats.of(description)
    except OptionError as error:
        raise ValueError(f"{error.what} ({error.hint})") from error


def _parse_schema(description: Any) -> Schema | None:
    try:
        return None if description is None else Schema.of(description)
    except SchemaError as error:
        raise ValueError(f"{error.problem.where}: {error.what} ({error.hint})".removeprefix(": ")) from error


def bytes_of(size: str | int) -> int:
    """Return the number of bytes of a size option.

    >>> bytes_of("64 MB")
    67108864
    """
    matched = _SIZE.fullmatch(size) if isinstance(size, str) else None
    return int(float(matched["number"]) * _UNITS[matched["unit"].upper()]) if matched else int(size)


def _parse_size(size: Any) -> str:
    valid = (isinstance(size, int) and not isinstance(size, bool)) or bool(_SIZE.fullmatch(str(size)))
    number = bytes_of(size) if valid else 0
    if number <= 0:
        raise ValueError("expected a size such as `64 MB`, or a number of bytes")
    unit = next(unit for unit in reversed(_UNITS) if number % _UNITS[unit] == 0)
    return f"{number // _UNITS[unit]} {unit}"


def _parse_names(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Sequence) else (None,)
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("expected a list of column names")
    return tuple(dict.fromkeys(names))


def _parse_rows(value: Any) -> tuple[Mapping[str, Any], ...]:
    rows = tuple(value) if isinstance(value, Sequence) else (None,)
    if not all(isinstance(row, Mapping) for row in rows):
        raise ValueError("expected a list of rows, each a mapping from column to value")
    return rows


def _serialize_format(chosen: Format | None) -> Any:
    if chosen is None:
        return None
    options = chosen.model_dump(by_alias=True, exclude_defaults=True)
    return {chosen.name: options} if options else chosen.name


_SIZE = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>B|KB|MB|GB|TB|)\s*", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_TEXT = {"type": "string"}
_TEXT_OR_MAPPING = {"anyOf": [_TEXT, {"type": "object"}, {"type": "null"}]}

FormatOption = Annotated[
    str | Mapping[str, Any] | Format | None,
    PlainValidator(_parse_format),
    PlainSerializer(_serialize_format),
    WithJsonSchema(_TEXT_OR_MAPPING),
]
"""Validated as a `Format`; the declared type is what users may write."""

MessageFormatOption = Annotated[
    FormatOption,
    Field(
        description="The format of messages: json, avro, csv, protobuf, text or raw; default of a sink: json"
    ),
]

SchemaOption = Annotated[
    str | type | Mapping[str, str] | Schema | None,
    PlainValidator(_parse_schema),
    PlainSerializer(lambda schema: schema and schema.ddl),
    WithJsonSchema(_TEXT_OR_MAPPING),
]
"""Validated as a `Schema`; the declared type is what users may write."""

SizeOption = Annotated[
    str | int,
    PlainValidator(_parse_size),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "integer"}], "examples": ["64 MB"]}),
]
"""A size with a unit (1 MB is 1024 KB), validated as its shortest text; see `bytes_of`."""

NamesOption = Annotated[
    Sequence[str],
    PlainValidator(_parse_names),
    PlainSerializer(list),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}),
]
"""One column name or several, validated as a tuple."""

RowsOption = Annotated[
    Sequence[Mapping[str, Any]],
    PlainValidator(_parse_rows),
    PlainSerializer(list),
    WithJsonSchema({"type": "array", "items": {"type": "object"}}),
]
"""Rows as mappings, validated as a tuple."""
