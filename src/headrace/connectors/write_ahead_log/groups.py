"""The encoding of a segment file: a header, then groups of records.

    header   magic, version, id of the log, position of the first record, checksum
    group    magic, position of its first record, durable position, number of records, their length,
             checksum of these fields, checksum of these fields and the records; then the records

A group is what one write stores. Its checksums start from the id of the log and cover the position, so that a
group or a segment that was copied from elsewhere is detected. The *durable position* is the end of the
records that were synced when the group was written: it proves that damage before it is no torn write.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

from headrace.connectors.write_ahead_log.records import FRAME

ID_BYTES = 8
_VERSION = 1
_SEGMENT = struct.Struct(f">4sI{ID_BYTES}sQ")
_GROUP = struct.Struct(">4sQQII")
_SUM, _SUMS = struct.Struct(">I"), struct.Struct(">II")
SEGMENT_BYTES = _SEGMENT.size + _SUM.size
GROUP_BYTES = _GROUP.size + _SUMS.size
_SEGMENT_MAGIC, _GROUP_MAGIC = b"\xffHRS", b"\xffHRG"
_SECTOR = 512
"""Disks write sectors of at least this size completely or not at all."""


@dataclass(frozen=True, slots=True)
class Group:
    """An intact group of a file."""

    position: int
    """The position of its first record."""
    durable: int
    count: int
    begins: int
    """The file offset of its records."""
    ends: int

    @property
    def end(self) -> int:
        """The position after its last record."""
        return self.position + self.count


def encode_header(log_id: bytes, first: int) -> bytes:
    """Return the header of the segment whose first record has a position."""
    fields = _SEGMENT.pack(_SEGMENT_MAGIC, _VERSION, log_id, first)
    return fields + _SUM.pack(crc32(fields))


def decode_header(content: bytes) -> tuple[bytes, int] | None:
    """Return the id of the log and the position of the first record; None if the header is damaged."""
    fields = content[: _SEGMENT.size]
    if content[_SEGMENT.size : SEGMENT_BYTES] != _SUM.pack(crc32(fields)) or len(fields) < _SEGMENT.size:
        return None
    magic, version, log_id, first = _SEGMENT.unpack(fields)
    return (log_id, first) if (magic, version) == (_SEGMENT_MAGIC, _VERSION) else None


def encode_group(records: Sequence[bytes], position: int, durable: int, log_id: bytes) -> bytes:
    """Return records as a group."""
    content = b"".join(records)
    fields = _GROUP.pack(_GROUP_MAGIC, position, durable, len(records), len(content))
    checksum = crc32(fields, crc32(log_id))
    return b"".join((fields, _SUMS.pack(checksum, crc32(content, checksum)), content))


def read_group(content: bytes | memoryview, offset: int, log_id: bytes) -> Group | None:
    """Return the group that begins at an offset; None if it is damaged or cut off."""
    fields = _read_fields(content, offset, log_id)
    if fields is None or fields.ends > len(content):
        return None
    checksum, total = _SUMS.unpack_from(content, offset + _GROUP.size)
    actual = crc32(memoryview(content)[fields.begins : fields.ends], checksum)
    return fields if actual == total else None


def intact_groups(content: bytes, log_id: bytes) -> Iterator[Group]:
    """Yield the groups at the start of a file, up to the first one that is damaged or out of sequence."""
    header = decode_header(content)
    offset, position = SEGMENT_BYTES, header[1] if header else 0
    while (group := read_group(content, offset, log_id)) is not None and group.position == position:
        yield group
        offset, position = group.ends, group.end


def find_groups(content: bytes, offset: int, log_id: bytes) -> Iterator[Group]:
    """Yield the intact groups at any byte from an offset on."""
    while (offset := content.find(_GROUP_MAGIC, offset)) >= 0:
        group = read_group(content, offset, log_id)
        if group is not None:
            yield group
        offset = offset + 1 if group is None else group.ends


def is_torn(content: bytes, offset: int, log_id: bytes) -> bool:
    """Return True if the bytes from an offset on may be a write that a power failure interrupted.

    Such a write lacks whole sectors, which read as zeros, or the end of the file.
    """
    fields = _read_fields(content, offset, log_id)
    if len(content) < (offset + GROUP_BYTES if fields is None else fields.ends):
        return True
    ends = [*range(offset - offset % _SECTOR + _SECTOR, len(content), _SECTOR), len(content)]
    sectors = zip([offset, *ends], ends, strict=False)
    return any(not any(content[begins:ends]) for begins, ends in sectors)


def split_records(content: bytes | memoryview, count: int) -> int:
    """Return the length of the first records of a group."""
    offset = 0
    for _ in range(count):
        offset += FRAME.size + FRAME.unpack_from(content, offset)[0]
    return offset


def _read_fields(content: bytes | memoryview, offset: int, log_id: bytes) -> Group | None:
    """Return the group that the fields at an offset describe; None if the fields are damaged."""
    if offset + GROUP_BYTES > len(content):
        return None
    magic, position, durable, count, length = _GROUP.unpack_from(content, offset)
    begins = offset + GROUP_BYTES
    checksum, _ = _SUMS.unpack_from(content, offset + _GROUP.size)
    if magic != _GROUP_MAGIC or checksum != crc32(content[offset : offset + _GROUP.size], crc32(log_id)):
        return None
    return Group(position, durable, count, begins, begins + length)
