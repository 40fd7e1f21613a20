"""Types of Kafka's options: the start, TLS and SASL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, SecretStr, WithJsonSchema

from headrace.access.options import ClientSettings, FilePath
from headrace.connectors.network.tls import TlsFiles

METADATA = {
    "key": "string",
    "key_bytes": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "headers": "array<struct<key string,value binary>>",
}
"""The metadata of a record, with their types."""

RESERVED = (
    "bootstrap.servers", "enable.auto.commit", "group.id", "transactional.id", "isolation.level",
    "security.protocol", "key.serializer", "value.serializer", "key.deserializer", "value.deserializer",
    "auto.offset.reset", "interceptor.classes", "transaction.timeout.ms", "enable.idempotence", "acks",
    "compression.type",
)  # fmt: skip
"""Settings of the clients that the connector sets, for its options or its guarantee."""

_ACCEPTED = (
    "allow.auto.create.topics", "batch.size", "buffer.memory", "check.crcs", "client.dns.lookup", "client.id",
    "client.rack", "connections.max.idle.ms", "default.api.timeout.ms", "delivery.timeout.ms",
    "exclude.internal.topics", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes", "group.instance.id",
    "heartbeat.interval.ms", "linger.ms", "max.block.ms", "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "max.request.size",
    "metadata.max.age.ms", "metadata.max.idle.ms", "metadata.recovery.strategy", "metrics.num.samples",
    "metrics.recording.level", "metrics.sample.window.ms", "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms", "partitioner.ignore.keys", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries",
    "retry.backoff.max.ms", "retry.backoff.ms", "send.buffer.bytes", "session.timeout.ms",
    "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms",
    "ssl.endpoint.identification.algorithm", "compression.gzip.level", "compression.lz4.level",
    "compression.zstd.level",
)  # fmt: skip
"""Settings of the clients that name neither a class nor a file nor a host; others need `--allow-code`."""

OFFSET_METADATA = "headrace"
"""The metadata of offsets that a pipeline commits, which mark its consumer group."""

_BOUNDS = {"earliest": -2, "latest": -1}


class Tls(TlsFiles):
    """Files in PEM form; without `ca`, Java's default trust store.

    >>> Tls(ca="ca.pem").verify_host
    True
    """

    key: Annotated[str, FilePath()] | None = Field(
        default=None, description="A file with this client's private key, in PKCS #8"
    )


class Sasl(BaseModel):
    """A login with user name and password.

    >>> Sasl(user="reader", password="secret").mechanism
    'PLAIN'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="PLAIN", description="The SASL mechanism"
    )
    user: str = Field(min_length=1, description="The user name")
    password: SecretStr = Field(description="The password; use a variable, such as ${KAFKA_PASSWORD}")


def _parse_start(start: Any) -> Any:
    if start in ("earliest", "latest"):
        return start
    if isinstance(start, Mapping) and len(start) == 1:
        if "time" in start:
            return {"time": _parse_time(start["time"])}
        if isinstance(start.get("offsets"), Mapping) and start["offsets"]:
            return {"offsets": _parse_offsets(start["offsets"])}
    raise ValueError("expected earliest, latest, {time: ...} or {offsets: {partition: offset}}")


def _parse_time(value: Any) -> str:
    """Return ISO text in UTC for text, a datetime, or seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        time = datetime.fromtimestamp(value, UTC)
    elif isinstance(value, datetime):
        time = value
    else:
        try:
            time = datetime.fromisoformat(str(value))
        except ValueError:
            raise ValueError("expected a time such as 2026-03-01T00:00:00Z") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def millis_of(time: datetime) -> int:
    """Return a time in milliseconds, rounded down, which is the resolution of Kafka's timestamps.

    >>> millis_of(datetime(1970, 1, 1, 0, 0, 1, 1999, UTC))
    1001
    """
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _parse_offsets(offsets: Mapping[Any, Any]) -> dict[str, Any]:
    """Return `{partition: offset}` of one topic or `{topic: {partition: offset}}`, with text keys."""
    if all(isinstance(value, Mapping) and value for value in offsets.values()):
        return {str(topic): _parse_partitions(partitions) for topic, partitions in offsets.items()}
    return _parse_partitions(offsets)


def _parse_partitions(offsets: Mapping[Any, Any]) -> dict[str, int]:
    numbers = {}
    for partition, offset in offsets.items():
        number = _BOUNDS.get(offset, offset) if isinstance(offset, str) else offset
        if not str(partition).isdigit() or not isinstance(number, int) or number < -2:
            raise ValueError(
                f"expected a partition's number and its offset, earliest or latest, got {partition}: {offset}"
            )
        numbers[str(partition)] = number
    return numbers


def _parse_assign(partitions: Any) -> dict[str, list[int]]:
    if not isinstance(partitions, Mapping):
        raise ValueError("expected topics with lists of partitions, such as {payments: [0, 1]}")  # noqa: TRY004
    for topic, numbers in partitions.items():
        if not isinstance(numbers, Sequence) or not numbers or not all(isinstance(n, int) for n in numbers):
            raise ValueError(f"expected a list of partitions for `{topic}`, such as [0, 1]")
    return {str(topic): sorted(set(numbers)) for topic, numbers in partitions.items()}


def _parse_settings(settings: Any) -> dict[str, str]:
    if not isinstance(settings, Mapping):
        raise ValueError("expected names with values, such as {client.id: fraud}")  # noqa: TRY004
    for name in settings:
        if name in RESERVED:
            raise ValueError(f"`{name}` is set by the connector's own options")
    return {str(name): _setting_text(value) for name, value in settings.items()}


def _setting_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_MAPPING = {"type": "object"}

StartOption = Annotated[
    str | Mapping[str, Any],
    PlainValidator(_parse_start),
    WithJsonSchema({"anyOf": [{"enum": ["earliest", "latest"]}, _MAPPING]}),
]
"""Validated as `earliest`, `latest`, `{"time": ISO text}` or `{"offsets": {...}}` with text keys."""

AssignOption = Annotated[Mapping[str, Sequence[int]], PlainValidator(_parse_assign), WithJsonSchema(_MAPPING)]
SettingsOption = Annotated[
    Mapping[str, str | int | bool], PlainValidator(_parse_settings), WithJsonSchema(_MAPPING)
]
ClientSettingsOption = Annotated[SettingsOption, ClientSettings(frozenset(_ACCEPTED))]
"""Settings of Kafka's clients; a restricted service accepts some of them."""
