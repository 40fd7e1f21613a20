"""Topics, records and consumer lag as the terminal shows them, and the positions that users type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headrace.errors import OptionError

ENDS = "earliest", "latest"
Bounds = Mapping[int, tuple[int, int]]
"""The first offset of each partition, and the offset after its last record."""


@dataclass(frozen=True)
class Topic:
    """A topic with its number of partitions, replication factor and number of offsets."""

    name: str
    partitions: int
    replication: int
    records: int


@dataclass(frozen=True)
class Record:
    """A record with key and value as text; bytes that are not UTF-8 become replacement characters."""

    topic: str
    partition: int
    offset: int
    timestamp: str | None
    key: str | None
    value: str | None
    headers: Mapping[str, str | None]


@dataclass(frozen=True)
class Lag:
    """The offset of a consumer group in one partition, and the end of that partition."""

    group: str
    topic: str
    partition: int
    offset: int
    end: int

    @property
    def lag(self) -> int:
        return max(self.end - self.offset, 0)


def parse_message(message: Any) -> Record:
    """Convert a message of confluent-kafka."""
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


def clamp_offset(offset: int, bounds: Bounds, topic: str) -> dict[int, int]:
    """Return the offset for each partition, moved into its bounds; negative offsets count from the end.

    Raises:
        OptionError: the offset is after the end of all partitions, where a consumer would start somewhere
            else.

    >>> clamp_offset(7, {0: (0, 9), 1: (0, 5)}, "t"), clamp_offset(-2, {0: (0, 9), 1: (4, 5)}, "t")
    ({0: 7, 1: 5}, {0: 7, 1: 4})
    """
    last = max(high for _, high in bounds.values())
    if offset > last:
        raise OptionError(
            f"expected an offset of `{topic}`, which ends at {last}, got {offset}",
            where="--from",
            hint="`latest` is its end, `-5` are the last five records",
        )
    return {
        number: min(max(offset if offset >= 0 else high + offset, low), high)
        for number, (low, high) in bounds.items()
    }


def parse_time(text: str) -> datetime:
    """Parse a time in ISO form; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(
            f"expected earliest, latest, an offset or a time, got {text!r}",
            where="--from",
            hint="write a time as 2026-03-01T12:00:00Z",
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="replace")
