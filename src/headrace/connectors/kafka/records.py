"""Rows as records: SQL expressions for a record's topic, partition, key, value and headers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.connectors.flat import TIME, quoted
from headrace.errors import DeliveryError, did_you_mean

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

_OPTIONS = f"map('timestampFormat', \"{TIME}\", 'ignoreNullFields', 'false')"
_SINGLE = {"text": "string", "raw": "binary"}


def expressions(options: Kafka, schema: dict[str, Any], *, where: str) -> list[str]:
    """One expression for each column that the kernel's `Record` has, from Spark's JSON form of the frame's schema.

    Raises:
        DeliveryError: a column that an option names isn't there, or the columns don't fit the format.
    """
    kinds = {field["name"]: field["type"] for field in schema["fields"]}
    _check(options, kinds, where)
    named = quoted(options.topic_column) if options.topic_column else f"'{_escaped(options.topic or '')}'"
    partition = (
        f"cast({quoted(options.partition_column)} as int)"
        if options.partition_column
        else "cast(null as int)"
    )
    return [
        f"{named} as topic",
        f"{partition} as partition",
        f"{_key(options.key, kinds)} as key",
        f"{_value(options, kinds, where)} as value",
        f"{_headers(options.headers, kinds)} as headers",
    ]


def _check(options: Kafka, kinds: dict[str, Any], where: str) -> None:
    single = [name for name in (options.topic_column, options.partition_column) if name]
    for name in (*options.key, *options.headers, *options.value, *single):
        if name not in kinds:
            raise DeliveryError(f"there is no column `{name}`", where=where, hint=did_you_mean(name, kinds))


def _key(names: Sequence[str], kinds: dict[str, Any]) -> str:
    if not names:
        return "cast(null as binary)"
    if len(names) == 1:
        return _bytes(names[0], kinds[names[0]])
    return f"cast({_object(names)} as binary)"


def _headers(names: Sequence[str], kinds: dict[str, Any]) -> str:
    if not names:
        return "cast(null as array<struct<key string, value binary>>)"
    each = (f"struct('{_escaped(name)}' as key, {_bytes(name, kinds[name])} as value)" for name in names)
    return f"array({', '.join(each)})"


def _value(options: Kafka, kinds: dict[str, Any], where: str) -> str:
    apart = {options.topic_column, options.partition_column, *options.headers}
    names = list(options.value) or [name for name in kinds if name not in apart]
    made = f"cast({_text(options.encoding, names, kinds, where)} as binary)"
    if options.retractions == "tombstones" and "pane" in kinds:
        return f"if(`pane`.`retraction`, cast(null as binary), {made})"
    return made


def _text(encoding: str, names: list[str], kinds: dict[str, Any], where: str) -> str:
    if encoding in _SINGLE:
        if len(names) != 1 or kinds[names[0]] != _SINGLE[encoding]:
            listed = ", ".join(f"{name} {_word(kinds[name])}" for name in names)
            raise DeliveryError(
                f"{encoding} takes one column of type {_SINGLE[encoding]}, got `{listed}`",
                where=where,
                hint='name it, as value="line", or write json',
            )
        return quoted(names[0])
    if encoding == "csv":
        return f"to_csv(struct({', '.join(map(quoted, names))}), map('timestampFormat', \"{TIME}\"))"
    return _object(names)


def _object(names: Sequence[str]) -> str:
    return f"to_json(struct({', '.join(map(quoted, names))}), {_OPTIONS})"


def _bytes(name: str, kind: Any) -> str:
    """A column as the bytes of its text; bytes as they are."""
    if kind == "binary":
        return quoted(name)
    if not isinstance(kind, str) or kind == "variant":
        return f"cast(to_json({quoted(name)}, {_OPTIONS}) as binary)"
    if kind.startswith("timestamp"):
        return f'cast(date_format({quoted(name)}, "{TIME}") as binary)'
    return f"cast(cast({quoted(name)} as string) as binary)"


def _word(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(kind["type"])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
