"""SQL expressions for the topic, partition, key, value and headers of the record of a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.connectors import flatten
from headrace.connectors.base import DELETED
from headrace.connectors.row_encoding import Fields, encode_bytes, encode_columns, encode_object, find_column

if TYPE_CHECKING:
    from headrace.connectors.kafka import Kafka

COLUMNS = ("topic", "partition", "key", "value", "headers")
"""The parts of a record, in the order of the kernel's `Record` and by the names of Spark's Kafka sink."""


def expressions(options: Kafka, fields: Fields, *, where: str) -> list[str]:
    """Return one expression for each of `COLUMNS`.

    Raises:
        DeliveryError: an option names an unknown column, or the columns do not fit the format.
    """
    _check_columns(options, fields, where)
    topic, partition = options.topic_column, options.partition_column
    return [
        f"cast({fields[topic].path} as string)" if topic else flatten.literal(options.topic or ""),
        f"cast({fields[partition].path if partition else 'null'} as int)",
        _key(options.key, fields),
        _value(options, fields, where),
        _headers(options.headers, fields),
    ]


def _check_columns(options: Kafka, fields: Fields, where: str) -> None:
    single = [name for name in (options.topic_column, options.partition_column) if name]
    for name in (*options.key, *options.headers, *options.value, *single):
        find_column(name, fields, where)


def _key(names: Iterable[str], fields: Fields) -> str:
    chosen = {name: fields[name] for name in names}
    if not chosen:
        return "cast(null as binary)"
    if len(chosen) == 1:
        return encode_bytes(*chosen.values())
    return f"cast({encode_object(chosen)} as binary)"


def _headers(names: Iterable[str], fields: Fields) -> str:
    headers = [
        f"struct({flatten.literal(name)} as key, {encode_bytes(fields[name])} as value)" for name in names
    ]
    return (
        f"array({', '.join(headers)})" if headers else "cast(null as array<struct<key string, value binary>>)"
    )


def _value(options: Kafka, fields: Fields, where: str) -> str:
    value = f"cast({encode_columns(options, fields, where, topic=options.topic)} as binary)"
    if DELETED in fields:
        return f"if({fields[DELETED].path}, cast(null as binary), {value})"
    if options.retractions == "tombstones" and "pane" in fields:
        return f"if({fields['pane'].path}.`retraction`, cast(null as binary), {value})"
    return value
