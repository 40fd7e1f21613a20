"""The encoding of a message as a record of the log.

A record is `length u32, crc u32, received_at i64, id length u16, metadata length u32, id, metadata, value`.
The checksum covers everything after it; `length` counts the same bytes. `received_at` is in microseconds.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

from headrace.connectors.write_ahead_log import Message

FRAME = struct.Struct(">II")
_HEAD = struct.Struct(">qHI")
_ENCODER = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Record:
    """A record as the log stores it."""

    received_at: int
    id: str
    """Empty if the message has none."""
    metadata: bytes
    """A JSON object."""
    value: bytes


def encode(message: Message) -> bytes:
    """Return a message as a record, received now.

    >>> [record.value for record in decode(encode(Message(b"on")) + encode(Message(b"off")))]
    [b'on', b'off']
    """
    identity = (message.id or "").encode(errors="replace")[:0xFFFF]
    metadata = _ENCODER.encode(message.metadata).encode(errors="replace")
    head = _HEAD.pack(time.time_ns() // 1000, len(identity), len(metadata))
    body = b"".join((head, identity, metadata, message.value))
    return FRAME.pack(len(body), crc32(body)) + body


def decode(records: bytes) -> Iterator[Record]:
    """Return the records of a slice of the log; their group was verified when it was read from disk."""
    offset, end, view = 0, len(records), memoryview(records)
    while offset < end:
        length, _ = FRAME.unpack_from(records, offset)
        start = offset + FRAME.size
        received_at, id_length, metadata_length = _HEAD.unpack_from(records, start)
        metadata_at = start + _HEAD.size + id_length
        value_at = metadata_at + metadata_length
        yield Record(
            received_at,
            bytes(view[start + _HEAD.size : metadata_at]).decode(errors="replace"),
            bytes(view[metadata_at:value_at]),
            bytes(view[value_at : start + length]),
        )
        offset = start + length


def intact_length(content: bytes) -> int:
    """Return the length of the intact records at the start of a file of version 0.2.

    >>> intact_length(encode(Message(b"on")) + b"torn") == len(encode(Message(b"on")))
    True
    """
    offset = 0
    while is_record(content, offset):
        offset += FRAME.size + FRAME.unpack_from(content, offset)[0]
    return offset


def is_record(content: bytes, offset: int) -> bool:
    """Return True if an intact record begins at an offset."""
    start = offset + FRAME.size
    if start > len(content):
        return False
    length, checksum = FRAME.unpack_from(content, offset)
    if length < _HEAD.size or start + length > len(content):
        return False
    return bool(crc32(memoryview(content)[start : start + length]) == checksum)
