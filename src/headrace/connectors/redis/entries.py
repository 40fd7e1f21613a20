"""Entries of a stream: the pending ones of a consumer, and their records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.connectors.redis.server import RedisServer, decode_text

_PAGE = 5_000
FIRST = "0-0"


@dataclass(frozen=True)
class ConsumedStream:
    """A stream as one consumer of a group reads it. Holds no connection."""

    server: RedisServer
    stream: str
    group: str
    consumer: str
    retry_timeout: float

    def create_group(self, client: Any, start: str) -> None:
        """Create the group, and the stream if there is none; a group that exists is left as it is."""
        begin = {"earliest": "0", "latest": "$"}.get(start, start)
        try:
            client.xgroup_create(self.stream, self.group, begin, mkstream=True)
        except Exception as error:
            if "BUSYGROUP" not in str(error):
                raise

    def last_id(self, client: Any) -> str:
        """Return the id of the newest entry."""
        return str(client.xinfo_stream(self.stream)["last-generated-id"].decode())

    def last_pending(self, client: Any, after: str, count: int) -> str | None:
        """Return the id of the last of at most `count` pending entries after an id; None if there is none."""
        pending = client.xpending_range(
            self.stream, self.group, min=f"({after}", max="+", count=count, consumername=self.consumer
        )
        return str(pending[-1]["message_id"].decode()) if pending else None

    def claim(self, client: Any, count: int) -> None:
        """Have the group assign at most `count` new entries to this consumer; they become pending."""
        client.xreadgroup(self.group, self.consumer, {self.stream: ">"}, count=count)

    def pending(self, client: Any, after: str, until: str) -> Iterator[tuple[str, dict[bytes, bytes]]]:
        """Yield the pending entries after an id, up to and including another one."""
        while True:
            reply = client.xreadgroup(self.group, self.consumer, {self.stream: after}, count=_PAGE)
            entries = reply[0][1] if reply else []
            for name, fields in entries:
                after = name.decode()
                if id_order(after) > id_order(until):
                    return
                if fields:  # a trimmed entry has none
                    yield after, fields
            if len(entries) < _PAGE:
                return

    def acknowledge(self, client: Any, until: str) -> None:
        """Acknowledge the pending entries up to an id."""
        while True:
            pending = client.xpending_range(
                self.stream, self.group, min="-", max=until, count=_PAGE, consumername=self.consumer
            )
            if pending:
                client.xack(self.stream, self.group, *(entry["message_id"] for entry in pending))
            if len(pending) < _PAGE:
                return


def id_order(name: str) -> tuple[int, int]:
    """Return an entry id as numbers, by which ids are ordered.

    >>> id_order("1700000000000-12")
    (1700000000000, 12)
    """
    milliseconds, _, number = name.partition("-")
    return int(milliseconds), int(number or 0)


def record_of(fields: dict[bytes, bytes], field: str | None) -> bytes | None:
    """Return the record of an entry: the named field, the only one, or all fields as a JSON object.

    >>> record_of({b"data": b"{}"}, None), record_of({b"id": b"1", b"n": b"2"}, None)
    (b'{}', b'{"id": "1", "n": "2"}')
    """
    if field is not None:
        return fields.get(field.encode())
    if len(fields) == 1:
        return next(iter(fields.values()))
    texts = {decode_text(name): decode_text(value) for name, value in fields.items()}
    return json.dumps(texts).encode()
