"""Reads logs of version 0.2, whose segments `*.log` are records without groups, and writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.connectors.durable_files import HINT, read_json, write_durably
from headrace.connectors.write_ahead_log.counters import Counters
from headrace.connectors.write_ahead_log.deduplication import FILE as IDS_FILE
from headrace.connectors.write_ahead_log.deduplication import MessageIds
from headrace.connectors.write_ahead_log.groups import encode_group, encode_header, intact_groups
from headrace.connectors.write_ahead_log.records import FRAME, intact_length, is_record
from headrace.connectors.write_ahead_log.segments import Segment, segment_path
from headrace.errors import DamagedFileError

_GROUP_RECORDS = 1024


@dataclass
class OldLog:
    """A log of version 0.2 without its records."""

    segments: list[tuple[Path, int]]
    """Each file with the length of its intact records."""
    counters: Counters
    ids: MessageIds


def old_segments(directory: Path) -> list[Path]:
    """Return the segments of version 0.2, oldest first."""
    return sorted(directory.glob("*.log"))


def read_old_log(directory: Path) -> OldLog:
    """Check a log of version 0.2.

    Raises:
        DamagedFileError: a file is damaged, or a segment is missing.
    """
    counters = Counters.read(directory) or Counters()
    ids = read_json(directory / IDS_FILE, [])
    # A killed upgrade may have left the file in the present format.
    old = OldLog([], counters, MessageIds(ids["ids"] if isinstance(ids, dict) else ids))
    files = old_segments(directory)
    counters.first, counters.gaps, expected = int(files[0].stem), [], int(files[0].stem)
    for path in files:
        first = int(path.stem)
        content = path.read_bytes()
        length = _intact_length(path, content, newest=path == files[-1])
        if first != expected and not (first > expected and counters.dropped_oldest):
            what = f"the messages {expected} to {first - 1} of the write-ahead log, before it, are missing"
            raise DamagedFileError(what, where=str(path), hint=HINT)
        if first > expected:
            counters.gaps.append([expected, first])
        old.segments.append((path, length))
        expected = first + sum(1 for _ in _records(content[:length]))
    return old


def write_upgraded(directory: Path, old: OldLog, log_id: bytes) -> list[Segment]:
    """Write segments, counters and message ids in the present format; leave the old segments."""
    segments = []
    for path, length in old.segments:
        first = int(path.stem)
        records = list(_records(path.read_bytes()[:length]))
        parts = range(0, len(records), _GROUP_RECORDS)
        groups = [encode_group(records[n : n + _GROUP_RECORDS], first + n, first + n, log_id) for n in parts]
        content = b"".join((encode_header(log_id, first), *groups))
        segment = Segment(segment_path(directory, first), log_id, first)
        write_durably(segment.path, content)
        for group in intact_groups(content, log_id):
            segment.add(group.count, group.ends - segment.size)
        segments.append(segment)
    old.counters.log = log_id.hex()
    if old.ids:
        old.counters.ids = segments[-1].end
        old.ids.store(directory, old.counters.log, segments[-1].end)
    old.counters.store(directory)
    return segments


def _intact_length(path: Path, content: bytes, *, newest: bool) -> int:
    """Return the length without a write at the end of the newest file that a crash interrupted."""
    intact = intact_length(content)
    if intact == len(content):
        return intact
    rest = content[intact:]
    cut_off = len(rest) < FRAME.size or FRAME.size + FRAME.unpack_from(rest)[0] >= len(rest) or not any(rest)
    if newest and cut_off and not any(is_record(rest, offset) for offset in range(1, len(rest))):
        return intact
    what = f"the write-ahead log is damaged at byte {intact}"
    raise DamagedFileError(what, where=str(path), hint=HINT)


def _records(content: bytes) -> Iterator[bytes]:
    offset = 0
    while offset < len(content):
        ends = offset + FRAME.size + FRAME.unpack_from(content, offset)[0]
        yield content[offset:ends]
        offset = ends
