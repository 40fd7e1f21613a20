"""The schemas in which sinks write records, registered before the first row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.connectors.network.schema_registry import RegistryError, SchemaRegistryClient
from headrace.connectors.retry import server_errors
from headrace.errors import DeliveryError, SchemaError
from headrace.formats.schema_registry import RegistryFormat, SchemaRegistry
from headrace.schemas.datatypes import DataType


@dataclass(frozen=True)
class WriterSchema:
    """The text of a schema, and its id if it is in a registry."""

    text: str
    id: int | None = None


_registered: dict[tuple[str, str, str, bool], WriterSchema] = {}
"""Schemas by address, subject, text (empty for the latest version) and whether they were registered."""


def forget_writer_schemas() -> None:
    """Request schemas again; called when a sink opens, because the registry may have been replaced."""
    _registered.clear()


def writer_schema(
    chosen: RegistryFormat, columns: Mapping[str, DataType], *, topic: str | None, where: str
) -> WriterSchema:
    """Return the schema of a sink's records; register it, or look it up, on first use.

    Args:
        chosen: the format.
        columns: the columns of the records.
        topic: the topic, for the default subject; None if the sink has no single one.
        where: the sink.

    Raises:
        DeliveryError: the columns do not fit the schema, the registry rejects it, or is unavailable.
    """
    try:
        if chosen.registry is None:
            return WriterSchema(chosen.writer_schema(columns))
        subject = chosen.subject or (f"{topic}-value" if topic else None)
        if subject is None:
            hint = "such as `orders-value`; the default is derived from the topic of a Kafka sink"
            raise DeliveryError(f"{chosen.name} needs the `subject` of its schema", where=where, hint=hint)
        latest = not chosen.registration and not chosen.has_writer_schema
        text = "" if latest else chosen.writer_schema(columns)
        schema = _resolve(chosen, chosen.registry, subject, text, where)
        if latest:
            chosen.check_writer_schema(schema.text, columns)
    except SchemaError as error:
        raise DeliveryError(error.what, where=f"{where}: {error.where}", hint=error.hint) from None
    return schema


def _resolve(
    chosen: RegistryFormat, registry: SchemaRegistry, subject: str, text: str, where: str
) -> WriterSchema:
    key = (registry.url, subject, text, chosen.registration)
    if key not in _registered:
        client = SchemaRegistryClient(registry)
        action = f"the schema of the subject `{subject}` cannot be used: "
        with server_errors(client, DeliveryError, action, where=where):
            try:
                _registered[key] = _request(client, chosen, subject, text, where)
            except RegistryError as error:
                if error.status == 409:
                    hint = "make the columns compatible, or change the subject or its compatibility level"
                    what = f"the schema is incompatible with earlier versions of `{subject}`: {error}"
                    raise DeliveryError(what, where=where, hint=hint) from None
                raise
    return _registered[key]


def _request(
    client: SchemaRegistryClient, chosen: RegistryFormat, subject: str, text: str, where: str
) -> WriterSchema:
    if chosen.registration:
        return WriterSchema(text, client.register(subject, text, chosen.registry_kind))
    if text:
        return WriterSchema(text, client.find(subject, text, chosen.registry_kind))
    latest = client.version(subject)
    if latest.kind != chosen.registry_kind or latest.references:
        kind = "a schema with references" if latest.references else f"a schema of type {latest.kind}"
        raise DeliveryError(f"the latest version of `{subject}` is {kind}", where=where, hint="set `schema`")
    return WriterSchema(latest.schema, latest.id)
