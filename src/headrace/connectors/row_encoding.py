"""SQL expressions that encode rows as messages: the value in a format, single columns as bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.connectors import flatten
from headrace.connectors.base import DELETED, Connector
from headrace.connectors.flatten import quote_name
from headrace.connectors.network.writer_schemas import writer_schema
from headrace.errors import DeliveryError, did_you_mean
from headrace.formats import Format
from headrace.formats.schema_registry import RegistryFormat
from headrace.schemas.datatypes import DataType
from headrace.schemas.fields import type_of_json

_SINGLE = {"text": "string", "raw": "binary"}
_CONTENT_TYPES = {
    "json": "application/json",
    "csv": "text/csv",
    "text": "text/plain",
    "avro": "application/vnd.apache.avro+binary",
    "protobuf": "application/x-protobuf",
}
_FAILED = re.compile(r"EncodeFailure: (column `.*)")
_FILTER = "convert or filter such rows before the sink"


@dataclass(frozen=True)
class Field:
    """A column of the rows: its SQL path, and Spark's JSON form of its type."""

    path: str
    kind: Any


Fields = Mapping[str, Field]


def fields_of(schema: Mapping[str, Any], within: str = "") -> dict[str, Field]:
    """Return the columns of a frame, from Spark's JSON form of its schema.

    `within` names the struct that holds them, if any.

    >>> fields_of({"fields": [{"name": "n", "type": "long"}]}, within="__main")
    {'n': Field(path='`__main`.`n`', kind='long')}
    """
    prefix = f"{quote_name(within)}." if within else ""
    return {
        field["name"]: Field(prefix + quote_name(field["name"]), field["type"]) for field in schema["fields"]
    }


def encode_value(chosen: Format | None, fields: Fields, where: str, *, topic: str | None = None) -> str:
    """Return the expression of a row in a format, as text or binary; JSON if no format is set.

    Args:
        chosen: the format.
        fields: the columns of the record.
        where: the sink, for errors.
        topic: the topic, from which the subject of a schema is derived.

    Raises:
        DeliveryError: the columns do not fit the format.
    """
    encoding = chosen.name if chosen is not None else "json"
    if encoding in _SINGLE:
        if [field.kind for field in fields.values()] != [_SINGLE[encoding]]:
            columns = ", ".join(f"{name} {_type_name(field.kind)}" for name, field in fields.items())
            raise DeliveryError(
                f"{encoding} takes one column of type {_SINGLE[encoding]}, got `{columns}`",
                where=where,
                hint='select it with value="line", or write json',
            )
        return next(iter(fields.values())).path
    if encoding == "csv":
        return f"to_csv({_flat_struct(fields)}, {flatten.sql_map(flatten.encoding(chosen, encoding))})"
    if isinstance(chosen, RegistryFormat):
        return _encode_in_kernel(chosen, fields, where, topic)
    return encode_object(fields)


def _encode_in_kernel(chosen: RegistryFormat, fields: Fields, where: str, topic: str | None) -> str:
    """Return the expression of a row that the kernel encodes in a schema."""
    columns = column_types(fields)
    for problem in chosen.encoding_problems(columns):
        raise DeliveryError(f"{problem.where}: {problem.what}", where=where, hint=problem.hint)
    schema = writer_schema(chosen, columns, topic=topic, where=where)
    struct = ", ".join(f"{field.path} as {quote_name(name)}" for name, field in fields.items())
    options = flatten.literal(chosen.encoder_options(columns, schema.text, schema.id))
    return f"headrace_encode({flatten.literal(chosen.name)}, {options}, struct({struct}))"


def message_columns(options: Connector, names: Iterable[str]) -> list[str]:
    """Return the columns in the value of a message: `value`, or all that do not address it."""
    if value := getattr(options, "value", ()):
        return list(value)
    columns = [name for name in names if name != DELETED]
    return [name for name in columns if name not in options.address_columns] or columns


def encode_columns(options: Connector, fields: Fields, where: str, *, topic: str | None = None) -> str:
    """Return the expression of the value of a message; see `message_columns` and `encode_value`.

    Raises:
        DeliveryError: a column is unknown, or the columns do not fit the format.
    """
    selected = {name: find_column(name, fields, where) for name in message_columns(options, fields)}
    chosen = getattr(options, "format", None)
    return encode_value(chosen if isinstance(chosen, Format) else None, selected, where, topic=topic)


def as_encoding_error(error: BaseException, where: str = "") -> DeliveryError | None:
    """Return the error of a Spark job that failed because the kernel could not encode a row."""
    failed = _FAILED.search(str(error))
    return DeliveryError(failed[1], where=where, hint=_FILTER) if failed else None


def encode_texts(names: Iterable[str], fields: Fields, where: str) -> str:
    """Return the expression of an array with the texts of columns."""
    texts = (encode_text(find_column(name, fields, where)) for name in names)
    return f"cast(array({', '.join(texts)}) as array<string>)"


def find_column(name: str, fields: Fields, where: str) -> Field:
    """Return the column of a name.

    Raises:
        DeliveryError: it is unknown.
    """
    if name not in fields:
        raise DeliveryError(f"unknown column `{name}`", where=where, hint=did_you_mean(name, fields))
    return fields[name]


def content_type(chosen: object) -> str:
    """Return the media type of messages, for the value of a `FormatOption`; JSON if no format is set."""
    encoding = chosen.name if isinstance(chosen, Format) else "json"
    return _CONTENT_TYPES.get(encoding, "application/octet-stream")


def encode_object(fields: Fields) -> str:
    """Return the expression of columns as a JSON object."""
    columns = (
        f"{flatten.json_value(field.path, field.kind)} as {quote_name(name)}"
        for name, field in fields.items()
    )
    return flatten.json_text(f"struct({', '.join(columns)})")


def encode_bytes(field: Field) -> str:
    """Return the expression of a column as the bytes of its text; binary columns unchanged."""
    return field.path if field.kind == "binary" else f"cast({encode_text(field)} as binary)"


def encode_text(field: Field) -> str:
    """Return the expression of a column as text: ISO timestamps, JSON for structs, arrays and maps."""
    if not isinstance(field.kind, str) or field.kind == "variant":
        return flatten.json_text(field.path)
    if field.kind.startswith("timestamp"):
        return flatten.time_text(field.path, field.kind)
    return f"cast({flatten.json_value(field.path, field.kind)} as string)"


def column_types(fields: Fields) -> dict[str, DataType]:
    """Return the types of columns.

    Raises:
        SchemaError: Headrace has no such type.
    """
    return {name: type_of_json(field.kind) for name, field in fields.items()}


def _flat_struct(fields: Fields) -> str:
    """Return a struct of plain values, for a line of CSV."""
    columns = (
        part
        for name, field in fields.items()
        for part in flatten.flatten_column(name, field.path, field.kind)
    )
    plain = (
        f"{flatten.plain_value(path, kind, text=False)} as {quote_name(name)}" for name, path, kind in columns
    )
    return f"struct({', '.join(plain)})"


def _type_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind["type"])
