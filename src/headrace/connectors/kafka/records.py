"""SQL expressions for the topic, partition, key, value and headers of the record of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten as flat
from headrace.connectors.flatten import quote_name
from headrace.errors import DeliveryError, did_you_mean
from headrace.formats import Format

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

COLUMNS = ("topic", "partition", "key", "value", "headers")
"""The parts of a record, in the order of the kernel's `Record` and by the names of Spark's Kafka sink."""

_SINGLE = {"text": "string", "raw": "binary"}


@dataclass(frozen=True)
class Field:
    """A column of the rows: its SQL path, and Spark's JSON form of its type."""

    path: str
    kind: Any


Fields = Mapping[str, Field]


def fields_of(schema: Mapping[str, Any], within: str = "") -> dict[str, Field]:
    """Return the columns of a frame, from Spark's JSON form of its schema.

    `within` names the struct that holds them.

    >>> fields_of({"fields": [{"name": "n", "type": "long"}]}, within="__main")
    {'n': Field(path='`__main`.`n`', kind='long')}
    """
    prefix = f"{quote_name(within)}." if within else ""
    return {
        field["name"]: Field(prefix + quote_name(field["name"]), field["type"]) for field in schema["fields"]
    }


def expressions(options: Kafka, fields: Fields, *, where: str) -> list[str]:
    """Return one expression for each of `COLUMNS`.

    Raises:
        DeliveryError: an option names an unknown column, or the columns don't fit the format.
    """
    _check(options, fields, where)
    topic, partition = options.topic_column, options.partition_column
    return [
        f"cast({fields[topic].path} as string)" if topic else flat.literal(options.topic or ""),
        f"cast({fields[partition].path if partition else 'null'} as int)",
        _key(options.key, fields),
        _value(options, fields, where),
        _headers(options.headers, fields),
    ]


def _check(options: Kafka, fields: Fields, where: str) -> None:
    single = [name for name in (options.topic_column, options.partition_column) if name]
    for name in (*options.key, *options.headers, *options.value, *single):
        if name not in fields:
            raise DeliveryError(f"unknown column `{name}`", where=where, hint=did_you_mean(name, fields))


def _key(names: Iterable[str], fields: Fields) -> str:
    chosen = {name: fields[name] for name in names}
    if not chosen:
        return "cast(null as binary)"
    if len(chosen) == 1:
        return _bytes(*chosen.values())
    return f"cast({_object(chosen)} as binary)"


def _headers(names: Iterable[str], fields: Fields) -> str:
    headers = [f"struct({flat.literal(name)} as key, {_bytes(fields[name])} as value)" for name in names]
    return (
        f"array({', '.join(headers)})" if headers else "cast(null as array<struct<key string, value binary>>)"
    )


def _value(options: Kafka, fields: Fields, where: str) -> str:
    apart = {options.topic_column, options.partition_column, *options.headers}
    names = list(options.value) or [name for name in fields if name not in apart]
    value = f"cast({_text(options, {n: fields[n] for n in names}, where)} as binary)"
    if options.retractions == "tombstones" and "pane" in fields:
        return f"if({fields['pane'].path}.`retraction`, cast(null as binary), {value})"
    return value


def _text(options: Kafka, fields: Fields, where: str) -> str:
    encoding = options.encoding
    if encoding in _SINGLE:
        if [field.kind for field in fields.values()] != [_SINGLE[encoding]]:
            columns = ", ".join(f"{name} {_word(field.kind)}" for name, field in fields.items())
            raise DeliveryError(
                f"{encoding} takes one column of type {_SINGLE[encoding]}, got `{columns}`",
                where=where,
                hint='select it with value="line", or write json',
            )
        return next(iter(fields.values())).path
    if encoding == "csv":
        chosen = options.format if isinstance(options.format, Format) else None
        return f"to_csv({_flat(fields)}, {flat.sql_map(flat.encoding(chosen, encoding))})"
    return _object(fields)


def _object(fields: Fields) -> str:
    return flat.json_text(_struct(fields))


def _flat(fields: Fields) -> str:
    """Return a struct of plain values, for a line of CSV."""
    columns = (part for name, field in fields.items() for part in flat.spread(name, field.path, field.kind))
    items = (f"{flat.plain(path, kind, text=False)} as {quote_name(name)}" for name, path, kind in columns)
    return f"struct({', '.join(items)})"


def _struct(fields: Fields) -> str:
    columns = (
        f"{flat.json_value(field.path, field.kind)} as {quote_name(name)}" for name, field in fields.items()
    )
    return f"struct({', '.join(columns)})"


def _bytes(field: Field) -> str:
    """Return a column as the bytes of its text; binary columns unchanged."""
    if field.kind == "binary":
        return field.path
    if not isinstance(field.kind, str) or field.kind == "variant":
        return f"cast({flat.json_text(field.path)} as binary)"
    if field.kind.startswith("timestamp"):
        return f"cast({flat.time_text(field.path, field.kind)} as binary)"
    return f"cast(cast({flat.json_value(field.path, field.kind)} as string) as binary)"


def _word(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind["type"])
