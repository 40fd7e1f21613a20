"""The records of a log on disk: append, read, remove."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from headrace.connectors.durable_files import HINT, sync_directory
from headrace.connectors.write_ahead_log.groups import GROUP_BYTES, SEGMENT_BYTES, encode_group
from headrace.connectors.write_ahead_log.segments import Segment, create_segment
from headrace.errors import DamagedFileError

_GROUP_RECORDS = 1024
"""The maximum number of records of a group; a part of a group is read by reading all of it."""
_HEADERS = SEGMENT_BYTES + GROUP_BYTES


class RecordStore:
    """Segments of a directory. The caller serialises all methods except `read`.

    Args:
        segments: at least one; all their records are durable.
        segment_bytes: the size after which a segment is complete.
    """

    def __init__(self, segments: Sequence[Segment], segment_bytes: int) -> None:
        self._segments, self._segment_bytes = list(segments), segment_bytes
        self._directory, self._log_id = segments[0].path.parent, segments[0].log_id
        self._file: BinaryIO = self._segments[-1].path.open("ab", buffering=0)
        self._size = sum(segment.size for segment in self._segments)
        self.durable = self.end
        """The position up to which records are synced."""

    @property
    def first(self) -> int:
        """The position of the oldest record."""
        return self._segments[0].first

    @property
    def end(self) -> int:
        """The position after the newest record."""
        return self._segments[-1].end

    @property
    def size(self) -> int:
        """The number of bytes on disk."""
        return self._size

    def size_of(self, records: Sequence[bytes]) -> int:
        """Return the maximum number of bytes on disk that records take."""
        if len(records) == 1:
            return len(records[0]) + _HEADERS
        size = sum(map(len, records))
        return (
            size + (size // self._segment_bytes + len(records) // _GROUP_RECORDS + bool(records)) * _HEADERS
        )

    def append(self, records: Sequence[bytes]) -> None:
        """Write records to the newest segment; a new one is begun when it is large enough.

        Raises:
            OSError: the disk is full or fails; the newest segment ends with a complete record.
        """
        part, size = list[bytes](), self._segments[-1].size
        for record in records:
            if size >= self._segment_bytes:
                self._append(part)
                self.rotate()
                part, size = [], 0
            part.append(record)
            size += len(record)
        self._append(part)

    def sync(self) -> None:
        """Make the appended records durable."""
        end = self.end
        os.fdatasync(self._file.fileno())
        self.durable = end

    def rotate(self) -> None:
        """Begin a new segment, unless the newest one is empty."""
        if self._segments[-1].count == 0:
            return
        self.sync()
        segment = create_segment(self._directory, self._log_id, self.end)
        self._segments.append(segment)
        self._size += segment.size
        self._file.close()
        self._file = segment.path.open("ab", buffering=0)

    def read(self, start: int, end: int, limit: int) -> Iterator[tuple[int, bytes]]:
        """Return the records of a range in slices of at most `limit` records, each with its position.

        Raises:
            DamagedFileError: a record is damaged, or its file is missing.
        """
        for segment in tuple(self._segments):
            begin, stop = max(start, segment.first), min(end, segment.end)
            for position in range(begin, stop, limit):
                yield position, _read(segment, position, min(position + limit, stop))

    def limit_bytes(self, start: int, end: int, max_bytes: int) -> int:
        """Return a position up to `end`, so that the range from `start` has about `max_bytes`."""
        size = 0
        for segment in self._segments:
            if segment.end > start:
                size += segment.size
                if size >= max_bytes:
                    return min(segment.end, end)
        return end

    def count_between(self, start: int, end: int) -> int:
        """Return the number of records of a range, without those that were removed."""
        return sum(max(0, min(end, each.end) - max(start, each.first)) for each in self._segments)

    def is_half_full(self) -> bool:
        """True if the newest segment has reached half of its size."""
        return 2 * self._segments[-1].size > self._segment_bytes

    def complete_before(self, position: int) -> list[Segment]:
        """Return the complete segments whose records are all before a position."""
        return [segment for segment in self._segments[:-1] if segment.end <= position]

    def oldest_after(self, position: int) -> list[Segment]:
        """Return the oldest segment whose records are all at or after a position, or nothing.

        The newest segment becomes a complete one if there is no other.
        """
        if all(segment.first < position for segment in self._segments[:-1]):
            self.rotate()
        return [segment for segment in self._segments[:-1] if segment.first >= position][:1]

    def remove(self, segments: Sequence[Segment]) -> None:
        """Remove complete segments, whose removal is recorded."""
        for segment in segments:
            self._segments.remove(segment)
            self._size -= segment.size
            segment.path.unlink(missing_ok=True)
        sync_directory(self._directory)

    def close(self) -> None:
        """Make everything durable and close the file."""
        self.sync()
        self._file.close()

    def _append(self, records: Sequence[bytes]) -> None:
        newest, end = self._segments[-1], self.end
        parts = [records[first : first + _GROUP_RECORDS] for first in range(0, len(records), _GROUP_RECORDS)]
        groups = [
            encode_group(part, end + number * _GROUP_RECORDS, self.durable, self._log_id)
            for number, part in enumerate(parts)
        ]
        try:
            _write(self._file, groups[0] if len(groups) == 1 else b"".join(groups))
        except OSError:
            os.ftruncate(self._file.fileno(), newest.size)
            raise
        for part, group in zip(parts, groups, strict=True):
            newest.add(len(part), len(group))
            self._size += len(group)


def _write(file: BinaryIO, content: bytes) -> None:
    """Write all bytes; an unbuffered file may accept a part of them."""
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]


def _read(segment: Segment, start: int, end: int) -> bytes:
    try:
        return segment.read(start, end)
    except FileNotFoundError:
        what = f"the file is missing, and with it the messages {start} to {end} of the write-ahead log"
        raise DamagedFileError(what, where=str(segment.path), hint=HINT) from None
