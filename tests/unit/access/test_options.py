"""Every option of a connector or format that holds text is declared as a file, a host or a class, or listed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError

from headrace import formats
from headrace.access import Access, restrict
from headrace.access.options import Address, FilePath, Host, Servers, _Mark
from headrace.connectors import registry
from headrace.connectors.generator.recipes import KINDS

HARMLESS = """
    avro.registry.password avro.registry.retry_timeout avro.registry.timeout avro.registry.user avro.schema
    avro.subject csv.date_format csv.delimiter csv.escape csv.null_text csv.quote csv.timestamp_format
    delta.every delta.key delta.partition_by delta.retry_timeout delta.start files.format files.partition_by
    files.schema generator.columns generator.planted generator.schema generator.time http.body_timeout
    http.cursor http.cursor_parameter http.every http.format http.headers http.items http.listen
    http.log_limit http.max_body http.metadata http.path http.retry_timeout http.timeout http.token
    json.date_format json.timestamp_format kafka.assign kafka.format kafka.group kafka.headers kafka.key
    kafka.metadata kafka.partition_column kafka.pattern kafka.sasl.password kafka.sasl.user kafka.start
    kafka.timeout kafka.tls.key_password kafka.topic kafka.topic_column kafka.topic_settings kafka.topics
    kafka.transaction_timeout kafka.value kinesis.every kinesis.format kinesis.metadata
    kinesis.partition_key kinesis.region kinesis.retry_timeout kinesis.start kinesis.stream kinesis.value
    memory.key memory.name memory.rows mqtt.client_id mqtt.format mqtt.keepalive mqtt.log_limit
    mqtt.metadata mqtt.password mqtt.quiet mqtt.retry_timeout mqtt.session_expiry mqtt.tls.key_password
    mqtt.topic mqtt.topics mqtt.user mqtt.user_properties mqtt.value mysql.cursor mysql.delay mysql.every
    mysql.key mysql.retry_timeout mysql.start mysql.table nexmark.start postgres.cursor postgres.delay postgres.every
    postgres.key postgres.retry_timeout postgres.start postgres.table postgres_cdc.before postgres_cdc.every
    postgres_cdc.publication postgres_cdc.retry_timeout postgres_cdc.slot postgres_cdc.table
    protobuf.message protobuf.registry.password protobuf.registry.retry_timeout protobuf.registry.timeout
    protobuf.registry.user protobuf.subject rabbitmq.bindings rabbitmq.dead_letter_exchange
    rabbitmq.exchange rabbitmq.format rabbitmq.headers rabbitmq.heartbeat rabbitmq.log_limit
    rabbitmq.metadata rabbitmq.queue rabbitmq.quiet rabbitmq.retry_timeout rabbitmq.routing_key
    rabbitmq.tls.key_password rabbitmq.value recipe:boolean.by recipe:choice.by recipe:choice.of
    recipe:integer.by recipe:integer.prefix recipe:lognormal.by recipe:normal.by recipe:sequence.by
    recipe:sequence.prefix recipe:sql.by recipe:timestamp.by recipe:timestamp.every recipe:timestamp.jitter
    recipe:timestamp.late_by recipe:timestamp.start recipe:uniform.by redis.channel redis.field redis.format
    redis.group redis.hash redis.json redis.member redis.metadata redis.password redis.retry_timeout
    redis.score redis.sorted_set redis.start redis.stream redis.value smtp.body smtp.from smtp.password
    smtp.retry_timeout smtp.subject smtp.timeout smtp.tls.key_password smtp.to smtp.user socket.log_limit
    socket.reconnect sqlite.cursor sqlite.delay sqlite.every sqlite.key sqlite.start sqlite.table
    webhook.format webhook.headers webhook.retry_timeout webhook.timeout webhook.tls.key_password
    webhook.token webhook.value websocket.format websocket.headers websocket.listen websocket.log_limit
    websocket.max_message websocket.metadata websocket.path websocket.quiet websocket.retry_timeout
    websocket.subscribe websocket.tls.key_password websocket.token websocket.value
"""
"""Options that are sent to a server, name columns, or are read by Headrace alone: review a new one."""


def text_options(model: type[BaseModel], name: str) -> Iterator[tuple[str, bool]]:
    """Yield the options with text below a model, and whether they have a mark."""
    for field_name, field in model.model_fields.items():
        parts = list(parts_of(field.annotation))
        option = f"{name}.{field.alias or field_name}"
        marked = any(isinstance(mark, _Mark) for mark in (*field.metadata, *parts))
        nested = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
        if str in parts or Any in parts or Path in parts or SecretStr in parts:
            yield option, marked
        for inner in nested:
            if not issubclass(inner, formats.Format):
                yield from text_options(inner, option)


def parts_of(annotation: Any) -> Iterator[Any]:
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    for inner in get_args(annotation):
        yield from parts_of(inner)


def all_options() -> dict[str, bool]:
    models = {kind: registry.connector(kind) for kind in registry.built_in()}
    others = {name: formats.get(name) for name in formats.names()} | {
        f"recipe:{n}": k for n, k in KINDS.items()
    }
    every = (models | others).items()
    return {option: marked for name, model in every for option, marked in text_options(model, name)}


def test_every_option_with_text_is_classified() -> None:
    unmarked = {option for option, marked in all_options().items() if not marked}
    assert unmarked == set(HARMLESS.split())


@pytest.mark.parametrize(
    ("mark", "accepted", "rejected"),
    [
        (FilePath(), "in/a.csv", "/etc/passwd"),
        (FilePath(), "s3a://bucket/in", "file:///etc/passwd"),
        (Address(frozenset({"db"})), "redis://host/?db=1", "redis://host/?ssl_keyfile=x"),
        (Servers(), "a:1,b.example.org:2", "evil:1"),
        (Servers(), "a", "a://evil:1"),
        (Servers(), "a:1, host", "[a]evil:1"),
        (Host(), "b.example.org", "evil"),
    ],
)
def test_a_mark_decides_on_the_value(mark: _Mark, accepted: str, rejected: str) -> None:
    hosts = ("a", "host", "bucket", "*.example.org")
    adapter: TypeAdapter[str] = TypeAdapter(Annotated[str, mark])
    with restrict(Access(hosts=hosts)):
        assert adapter.validate_python(accepted) == accepted
        with pytest.raises(ValidationError, match="not accepted"):
            adapter.validate_python(rejected)
    assert adapter.validate_python(rejected) == rejected
