"""Types of Kafka's own options: where to start, which metadata become columns, TLS and login."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, SecretStr, WithJsonSchema

METADATA = ("key", "key_bytes", "topic", "partition", "offset", "timestamp", "headers")
"""What can be had of a record besides its value; `key` as text."""

OURS = (
    "bootstrap.servers", "enable.auto.commit", "group.id", "transactional.id", "isolation.level", "security.protocol",
    "key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "auto.offset.reset",
    "interceptor.classes", "transaction.timeout.ms", "enable.idempotence", "acks", "compression.type",
)  # fmt: skip
"""Settings of the clients that belong to options of the connector, or to its promises."""

OFFSET_METADATA = "headrace"
"""The metadata of offsets that a pipeline commits, which mark its consumer group."""

_BOUNDS = {"earliest": -2, "latest": -1}


class Tls(BaseModel):
    """Files in PEM form; without `ca` the certificates that Java trusts.

    >>> Tls(ca="ca.pem").verify_host
    True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ca: str | None = Field(
        default=None, description="A file of certificates that the server's must be signed by"
    )
    certificate: str | None = Field(default=None, description="A file with this client's certificate chain")
    key: str | None = Field(default=None, description="A file with this client's private key, in PKCS #8")
    key_password: SecretStr | None = Field(default=None, description="The password of the private key")
    verify_host: bool = Field(default=True, description="Whether the certificate must be for the host's name")


class Sasl(BaseModel):
    """A login by name and password.

    >>> Sasl(user="reader", password="secret").mechanism
    'PLAIN'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="PLAIN", description="How the password is proved"
    )
    user: str = Field(min_length=1, description="The user's name")
    password: SecretStr = Field(description="The password; from the environment, as ${KAFKA_PASSWORD}")


def _start(given: Any) -> Any:
    if given in ("earliest", "latest"):
        return given
    if isinstance(given, Mapping) and len(given) == 1:
        if "time" in given:
            return {"time": _time(given["time"])}
        if isinstance(given.get("offsets"), Mapping) and given["offsets"]:
            return {"offsets": _offsets(given["offsets"])}
    raise ValueError("expected earliest, latest, {time: ...} or {offsets: {partition: offset}}")


def _time(given: Any) -> str:
    """ISO text in UTC, whatever was given: text, a datetime, or seconds since 1970."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        moment = datetime.fromtimestamp(given, UTC)
    elif isinstance(given, datetime):
        moment = given
    else:
        try:
            moment = datetime.fromisoformat(str(given))
        except ValueError:
            raise ValueError("expected a time such as 2026-03-01T00:00:00Z") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def millis_of(moment: datetime) -> int:
    """The millisecond that a moment is in, as Kafka keeps times: a record of that millisecond is one "of that time".

    >>> millis_of(datetime(1970, 1, 1, 0, 0, 1, 1999, UTC))
    1001
    """
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _offsets(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Of one topic `{partition: offset}`, of several `{topic: {partition: offset}}`; with keys as JSON has them."""
    if all(isinstance(value, Mapping) and value for value in given.values()):
        return {str(topic): _partitions(offsets) for topic, offsets in given.items()}
    return _partitions(given)


def _partitions(given: Mapping[Any, Any]) -> dict[str, int]:
    found = {}
    for partition, offset in given.items():
        number = _BOUNDS.get(offset, offset) if isinstance(offset, str) else offset
        if not str(partition).isdigit() or not isinstance(number, int) or number < -2:
            raise ValueError(
                f"expected a partition's number and its offset, earliest or latest, got {partition}: {offset}"
            )
        found[str(partition)] = number
    return found


def _metadata(given: Any) -> dict[str, str]:
    chosen = dict(given) if isinstance(given, Mapping) else dict.fromkeys(_listed(given))
    for word in chosen:
        if word not in METADATA:
            raise ValueError(f"there is no metadata `{word}`: take some of {', '.join(METADATA)}")
    columns = {str(word): str(name or word) for word, name in chosen.items()}
    if len(set(columns.values())) < len(columns):
        raise ValueError("expected a different column for each")
    return columns


def _listed(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else (None,)


def _assign(given: Any) -> dict[str, list[int]]:
    if not isinstance(given, Mapping):
        raise ValueError("expected topics with lists of partitions, such as {payments: [0, 1]}")  # noqa: TRY004
    for topic, numbers in given.items():
        if not isinstance(numbers, Sequence) or not numbers or not all(isinstance(n, int) for n in numbers):
            raise ValueError(f"expected a list of partitions for `{topic}`, such as [0, 1]")
    return {str(topic): sorted(set(numbers)) for topic, numbers in given.items()}


def _settings(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise ValueError("expected names with values, such as {client.id: fraud}")  # noqa: TRY004
    for name in given:
        if name in OURS:
            raise ValueError(f"`{name}` is set by the connector's own options")
    return {str(name): _word(value) for name, value in given.items()}


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_MAPPING = {"type": "object"}
_WORD = {"type": "string"}

StartOption = Annotated[
    str | Mapping[str, Any],
    PlainValidator(_start),
    WithJsonSchema({"anyOf": [{"enum": ["earliest", "latest"]}, _MAPPING]}),
]
"""Becomes `earliest`, `latest`, `{"time": ISO text}` or `{"offsets": {...}}` with text keys."""

MetadataOption = Annotated[
    str | Sequence[str] | Mapping[str, str],
    PlainValidator(_metadata),
    WithJsonSchema({"anyOf": [_WORD, {"type": "array", "items": {"enum": list(METADATA)}}, _MAPPING]}),
]
"""Becomes a mapping from what it is to the column's name."""

AssignOption = Annotated[Mapping[str, Sequence[int]], PlainValidator(_assign), WithJsonSchema(_MAPPING)]
SettingsOption = Annotated[
    Mapping[str, str | int | bool], PlainValidator(_settings), WithJsonSchema(_MAPPING)
]
