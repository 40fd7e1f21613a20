"""The records of a log on disk: append, read, remove."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from headrace.connectors.durable_files import sync_directory
from headrace.connectors.write_ahead_log.segments import Segment, create_segment, open_segments
from headrace.errors import SourceError


class RecordStore:
    """Segments of a directory. The caller serialises all methods except `read`."""

    def __init__(self, directory: Path, segment_bytes: int) -> None:
        self._directory, self._segment_bytes = directory, segment_bytes
        self._segments = open_segments(directory)
        self._file: BinaryIO = self._segments[-1].path.open("ab", buffering=0)
        self._size = sum(segment.size for segment in self._segments)

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

    def append(self, records: Sequence[bytes]) -> None:
        """Write records to the newest segment; a new one is begun when it is large enough.

        Raises:
            OSError: the disk is full or fails; the newest segment ends with a complete record.
        """
        group, size = list[bytes](), self._segments[-1].size
        for record in records:
            if size >= self._segment_bytes:
                self._append_group(group)
                self.rotate()
                group, size = [], 0
            group.append(record)
            size += len(record)
        self._append_group(group)

    def sync(self) -> None:
        """Make the appended records durable."""
        os.fdatasync(self._file.fileno())

    def rotate(self) -> None:
        """Begin a new segment."""
        self.sync()
        self._segments.append(create_segment(self._directory, self.end))
        self._file.close()
        self._file = self._segments[-1].path.open("ab", buffering=0)

    def read(self, start: int, end: int, limit: int) -> Iterator[tuple[int, bytes]]:
        """Return the records of a range in slices of at most `limit` records, each with its position."""
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

    def has_before(self, position: int) -> bool:
        """True if there is a complete segment whose records are all before a position."""
        return len(self._segments) > 1 and self._segments[0].end <= position

    def remove_before(self, position: int) -> list[Segment]:
        """Remove the segments whose records are all before a position; return them."""
        return self._remove([segment for segment in self._segments[:-1] if segment.end <= position])

    def remove_oldest_after(self, position: int) -> list[Segment]:
        """Remove the oldest segment whose records are all at or after a position; return it, or nothing."""
        if self._segments[-1].count and all(segment.first < position for segment in self._segments[:-1]):
            self.rotate()
        return self._remove([segment for segment in self._segments[:-1] if segment.first >= position][:1])

    def close(self) -> None:
        """Make everything durable and close the file."""
        self.sync()
        self._file.close()

    def _append_group(self, records: Sequence[bytes]) -> None:
        newest, content = self._segments[-1], b"".join(records)
        try:
            _write(self._file, content)
        except OSError:
            os.ftruncate(self._file.fileno(), newest.size)
            raise
        for record in records:
            newest.add(len(record))
        self._size += len(content)

    def _remove(self, segments: list[Segment]) -> list[Segment]:
        for segment in segments:
            self._segments.remove(segment)
            self._size -= segment.size
            segment.path.unlink(missing_ok=True)
        if segments:
            sync_directory(self._directory)
        return segments


def _write(file: BinaryIO, content: bytes) -> None:
    """Write all bytes; an unbuffered file may accept a part of them."""
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]


def _read(segment: Segment, start: int, end: int) -> bytes:
    try:
        return segment.read(start, end)
    except FileNotFoundError:
        what = f"the write-ahead log has lost its records {start} to {end}: {segment.path.name} is missing"
        raise SourceError(what, hint="restore the file, or start over with --fresh") from None
