"""Segment files: numbered records, appended at the end and removed at the front.

Records have consecutive positions. A file is named after the position of its first record, so that positions
continue after every record was removed: the newest file always exists.
"""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from headrace.connectors.durable_files import sync_directory
from headrace.connectors.write_ahead_log.records import FRAME, intact_length
from headrace.errors import SourceError

STRIDE = 256
"""Every 256th record of a segment is indexed."""


@dataclass
class Segment:
    """One file of records."""

    path: Path
    first: int
    """The position of the first record."""
    count: int = 0
    size: int = 0
    index: array[int] = field(default_factory=lambda: array("Q"))
    """The file offsets of the records `first`, `first + STRIDE`, ..."""

    @property
    def end(self) -> int:
        """The position after the last record."""
        return self.first + self.count

    def add(self, length: int) -> None:
        """Add a record of that length to counts and index."""
        if self.count % STRIDE == 0:
            self.index.append(self.size)
        self.count += 1
        self.size += length

    def read(self, start: int, end: int) -> bytes:
        """Return the records from a position up to another."""
        with self.path.open("rb") as file:
            begins, ends = self._file_offset(file.fileno(), start), self._file_offset(file.fileno(), end)
            return os.pread(file.fileno(), ends - begins, begins)

    def _file_offset(self, file: int, position: int) -> int:
        """Return the file offset of a record: from the nearest indexed one, record by record."""
        if position >= self.end:
            return self.size
        indexed, further = divmod(position - self.first, STRIDE)
        offset = self.index[indexed]
        for _ in range(further):
            offset += FRAME.size + FRAME.unpack(os.pread(file, FRAME.size, offset))[0]
        return offset


def open_segments(directory: Path) -> list[Segment]:
    """Read the segments of a directory, oldest first; at least one.

    An incomplete record at the end of the newest file is removed: it was being written when the process died.

    Raises:
        SourceError: a record is damaged in the middle of the log.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = sorted(directory.glob("*.log"))
    segments = [_load(file, newest=file == files[-1]) for file in files]
    return segments or [create_segment(directory, 0)]


def create_segment(directory: Path, first: int) -> Segment:
    """Create an empty file for the records from a position on, durably."""
    path = directory / f"{first:020d}.log"
    path.touch()
    sync_directory(directory)
    return Segment(path, first)


def _load(path: Path, *, newest: bool) -> Segment:
    content = path.read_bytes()
    intact = intact_length(content)
    if intact < len(content):
        if not newest:
            what = f"the write-ahead log is damaged: {path}, byte {intact}"
            raise SourceError(what, hint="restore the file, or start over with --fresh")
        with path.open("r+b") as file:
            file.truncate(intact)
            os.fsync(file.fileno())
    segment = Segment(path, int(path.stem))
    offset = 0
    while offset < intact:
        length = FRAME.size + FRAME.unpack_from(content, offset)[0]
        segment.add(length)
        offset += length
    return segment
