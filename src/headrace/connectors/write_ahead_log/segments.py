"""Segment files: numbered records, appended at the end and removed at the front.

Records have consecutive positions. A file is named after the position of its first record, so that positions
continue after every record was removed: the newest file always exists.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from pathlib import Path

from headrace.connectors.durable_files import HINT, write_durably
from headrace.connectors.write_ahead_log.groups import (
    SEGMENT_BYTES,
    Group,
    encode_header,
    read_group,
    split_records,
)
from headrace.errors import DamagedFileError

STRIDE = 256
"""One group of about this many records is indexed."""


@dataclass
class Segment:
    """One file of records."""

    path: Path
    log_id: bytes
    first: int
    """The position of the first record."""
    count: int = 0
    size: int = SEGMENT_BYTES
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    """The file offsets of the groups at `positions`."""
    positions: array[int] = field(default_factory=lambda: array("Q"))

    @property
    def end(self) -> int:
        """The position after the last record."""
        return self.first + self.count

    def add(self, count: int, length: int) -> None:
        """Add a group to counts and index."""
        if not self.positions or self.end >= self.positions[-1] + STRIDE:
            self.offsets.append(self.size)  # before the position, by which `read` in another thread finds it
            self.positions.append(self.end)
        self.size += length
        self.count += count

    def read(self, start: int, end: int) -> bytes:
        """Return the records from a position up to another.

        Raises:
            DamagedFileError: a record is damaged.
        """
        if start >= end:
            return b""
        indexed = bisect_right(self.positions, start) - 1
        begins, ends = self.offsets[indexed], self._size_at(bisect_left(self.positions, end))
        with self.path.open("rb") as file:
            content = memoryview(os.pread(file.fileno(), ends - begins, begins))
        parts, offset, position = list[memoryview](), 0, self.positions[indexed]
        while position < end:
            group = read_group(content, offset, self.log_id)
            if group is None or group.position != position:
                what = f"damaged at byte {begins + offset}: the messages from {position} on cannot be read"
                raise DamagedFileError(what, where=str(self.path), hint=HINT)
            if group.end > start:
                parts.append(_cut(content, group, start, end))
            offset, position = group.ends, group.end
        return b"".join(parts)

    def _size_at(self, indexed: int) -> int:
        """Return the offset of an indexed group; the size of the file after the last one."""
        return self.offsets[indexed] if indexed < len(self.positions) else self.size


def create_segment(directory: Path, log_id: bytes, first: int) -> Segment:
    """Create an empty file for the records from a position on, durably."""
    path = segment_path(directory, first)
    write_durably(path, encode_header(log_id, first))
    return Segment(path, log_id, first)


def segment_path(directory: Path, first: int) -> Path:
    """Return the path of the segment whose first record has a position."""
    return directory / f"{first:020d}.wal"


def segment_paths(directory: Path) -> list[Path]:
    """Return the segments of a directory, oldest first."""
    return sorted(directory.glob("*.wal"))


def _cut(content: memoryview, group: Group, start: int, end: int) -> memoryview:
    """Return the records of a group from a position up to another."""
    records = content[group.begins : group.ends]
    stop = split_records(records, end - group.position) if end < group.end else len(records)
    skipped = split_records(records, start - group.position) if start > group.position else 0
    return records[skipped:stop]
