"""Types of options that several connectors have: what a user may write, and what it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from headrace import durations, formats
from headrace.errors import DurationError, OptionError, SchemaError
from headrace.formats import Format, Schema


def _path(given: Any) -> str:
    if not isinstance(given, str | Path) or not str(given):
        raise ValueError("expected a path")
    return str(given)


def _format(given: Any) -> Format | None:
    try:
        return None if given is None else formats.of(given)
    except OptionError as error:
        raise ValueError(f"{error.what} ({error.hint})") from error


def _schema(given: Any) -> Schema | None:
    try:
        return None if given is None else Schema.of(given)
    except SchemaError as error:
        raise ValueError(f"{error.problem.where}: {error.what} ({error.hint})".removeprefix(": ")) from error


def _duration(given: Any) -> str | None:
    try:
        return None if given is None else durations.text(durations.microseconds(given))
    except DurationError as error:
        raise ValueError(f"expected a length of time such as `30 seconds` ({error.what})") from error


def _names(given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else (None,)
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("expected a list of column names")
    return tuple(dict.fromkeys(names))


def _rows(given: Any) -> tuple[Mapping[str, Any], ...]:
    rows = tuple(given) if isinstance(given, Sequence) else (None,)
    if not all(isinstance(row, Mapping) for row in rows):
        raise ValueError("expected a list of rows, each a mapping from column to value")
    return rows


def _format_text(chosen: Format | None) -> Any:
    if chosen is None:
        return None
    options = chosen.model_dump(exclude_defaults=True)
    return {chosen.name: options} if options else chosen.name


_TEXT = {"type": "string"}
_MAYBE = {"anyOf": [_TEXT, {"type": "object"}, {"type": "null"}]}

PathOption = Annotated[str | Path, PlainValidator(_path), WithJsonSchema(_TEXT)]
"""Becomes text."""

FormatOption = Annotated[
    str | Mapping[str, Any] | Format | None,
    PlainValidator(_format),
    PlainSerializer(_format_text),
    WithJsonSchema(_MAYBE),
]
"""Becomes a `Format`."""

SchemaOption = Annotated[
    str | type | Mapping[str, str] | Schema | None,
    PlainValidator(_schema),
    PlainSerializer(lambda schema: schema and schema.ddl),
    WithJsonSchema(_MAYBE),
]
"""Becomes a `Schema`."""

DurationOption = Annotated[
    str | timedelta, PlainValidator(_duration), WithJsonSchema({"type": "string", "examples": ["30 seconds"]})
]
"""Becomes the shortest text of it, so that equal lengths are equal options."""

NamesOption = Annotated[
    Sequence[str],
    PlainValidator(_names),
    PlainSerializer(list),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}),
]
"""One column name or several; becomes a tuple."""

RowsOption = Annotated[
    Sequence[Mapping[str, Any]],
    PlainValidator(_rows),
    PlainSerializer(list),
    WithJsonSchema({"type": "array", "items": {"type": "object"}}),
]
"""Rows as mappings; becomes a tuple."""
