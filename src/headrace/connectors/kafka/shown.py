"""What a terminal shows of Kafka: topics, records, and how far groups are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Topic:
    """A topic: how many partitions it has, on how many brokers, and how many offsets it holds."""

    name: str
    partitions: int
    replication: int
    records: int


@dataclass(frozen=True)
class Record:
    """A record as it is in the log; key and value as text, what isn't UTF-8 as replacement characters."""

    topic: str
    partition: int
    offset: int
    timestamp: str | None
    key: str | None
    value: str | None
    headers: Mapping[str, str | None]


@dataclass(frozen=True)
class Lag:
    """How far a group is in one partition."""

    group: str
    topic: str
    partition: int
    offset: int
    end: int

    @property
    def lag(self) -> int:
        return max(self.end - self.offset, 0)


def record(message: Any) -> Record:
    """A message of confluent-kafka as a record."""
    kind, millis = message.timestamp()
    at = datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds") if kind else None
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        at.replace("+00:00", "Z") if at else None,
        _text(message.key()),
        _text(message.value()),
        {name: _text(value) for name, value in message.headers() or ()},
    )


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="replace")
