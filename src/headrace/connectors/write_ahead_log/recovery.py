"""Opens the files of a log: checks that no acknowledged record is missing, and removes an interrupted write.

Damage is an error, and the files stay as they are. The end of the newest segment is removed only if it was
never acknowledged; `docs/design/write-ahead-log.md` has the reasons why this can be decided.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from headrace.connectors.durable_files import HINT
from headrace.connectors.write_ahead_log import acknowledged
from headrace.connectors.write_ahead_log.acknowledged import (
    Acknowledged,
    AcknowledgedFile,
    read_acknowledged,
)
from headrace.connectors.write_ahead_log.counters import FILE, Counters
from headrace.connectors.write_ahead_log.deduplication import MessageIds, read_ids
from headrace.connectors.write_ahead_log.groups import (
    ID_BYTES,
    SEGMENT_BYTES,
    decode_header,
    find_groups,
    intact_groups,
    is_torn,
)
from headrace.connectors.write_ahead_log.segments import (
    Segment,
    create_segment,
    segment_path,
    segment_paths,
)
from headrace.connectors.write_ahead_log.upgrade import old_segments, read_old_log, write_upgraded
from headrace.errors import DamagedFileError, Problem

_Value = TypeVar("_Value")


@dataclass
class LogFiles:
    """The open files of a log."""

    segments: list[Segment]
    counters: Counters
    ids: MessageIds
    acknowledged: AcknowledgedFile


@dataclass
class _Contents:
    """The files of a log as they were read."""

    log_id: bytes
    counters: Counters
    ids: MessageIds
    segments: list[Segment] = field(default_factory=list)
    obsolete: list[Path] = field(default_factory=list)
    """Segments whose removal is recorded; a crash has left them."""
    problems: list[Problem] = field(default_factory=list)


def open_files(directory: Path) -> LogFiles:
    """Open the log of a directory; create or upgrade it if necessary.

    Raises:
        DamagedFileError: a file is damaged or missing; nothing was changed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / acknowledged.FILE).exists():
        if old_segments(directory):
            return _upgrade(directory)
        _require_empty(directory)
        return _create(directory)
    contents = _read(directory)
    if contents.problems:
        raise DamagedFileError.of(contents.problems[0])
    for path in (*contents.obsolete, *old_segments(directory)):
        path.unlink()
    newest = contents.segments[-1]
    with newest.path.open("r+b") as file:
        file.truncate(newest.size)
        os.fsync(file.fileno())  # also of intact records, which a killed process may not have synced
    state = AcknowledgedFile(directory, contents.log_id, newest.end)
    return LogFiles(contents.segments, contents.counters, contents.ids, state)


def verify(directory: Path) -> list[Problem]:
    """Return what is damaged or missing in the log of a pipeline that is not running; changes nothing."""
    if not directory.is_dir():
        return []
    try:
        if (directory / acknowledged.FILE).exists():
            return _read(directory).problems
        if old_segments(directory):
            read_old_log(directory)
        else:
            _require_empty(directory)
    except DamagedFileError as error:
        return [error.problem]
    return []


def _create(directory: Path) -> LogFiles:
    """Create a log; without the last file, a crash leaves a directory that counts as empty."""
    log_id = os.urandom(ID_BYTES)
    counters = Counters(log=log_id.hex())
    counters.store(directory)
    segment = create_segment(directory, log_id, 0)
    return LogFiles([segment], counters, MessageIds(), AcknowledgedFile(directory, log_id, 0))


def _upgrade(directory: Path) -> LogFiles:
    """Write the records of a log of version 0.2 in the present format; a crash leaves the old files."""
    old = read_old_log(directory)
    for path in segment_paths(directory):
        path.unlink()
    log_id = os.urandom(ID_BYTES)
    segments = write_upgraded(directory, old, log_id)
    state = AcknowledgedFile(directory, log_id, segments[-1].end)
    for path in old_segments(directory):
        path.unlink()
    return LogFiles(segments, old.counters, old.ids, state)


def _require_empty(directory: Path) -> None:
    """Raise an error if messages were stored in a directory that does not state how many."""
    counters = Counters.read(directory) or Counters()
    files = segment_paths(directory)
    stored = any(int(path.stem) or path.stat().st_size > SEGMENT_BYTES for path in files)
    if stored or counters.stored or counters.planned or counters.first:
        what = "the file is missing: it states how many messages were acknowledged"
        raise DamagedFileError(what, where=str(directory / acknowledged.FILE), hint=HINT)


def _read(directory: Path) -> _Contents:
    """Read and check all files of a log."""
    problems = list[Problem]()
    state = _attempt(lambda: read_acknowledged(directory), problems)
    counters = _attempt(lambda: _read_counters(directory), problems)
    if state is None or counters is None:
        return _Contents(b"", Counters(), MessageIds(), problems=problems)
    contents = _Contents(state.log_id, counters, MessageIds(), problems=problems)
    contents.ids = _attempt(lambda: read_ids(directory, counters), problems) or contents.ids
    if counters.log != state.log_id.hex():
        problems.append(_problem(directory / FILE, "the file belongs to another write-ahead log"))
        return contents
    _read_segments(directory, contents, state)
    return contents


def _attempt(read: Callable[[], _Value], problems: list[Problem]) -> _Value | None:
    try:
        return read()
    except DamagedFileError as error:
        problems.append(error.problem)
        return None


def _read_counters(directory: Path) -> Counters:
    counters = Counters.read(directory)
    if counters is None:
        what = "the file is missing: it states which messages were removed from the write-ahead log"
        raise DamagedFileError(what, where=str(directory / FILE), hint=HINT)
    return counters


def _read_segments(directory: Path, contents: _Contents, state: Acknowledged) -> None:
    """Read the segments; find damaged and missing ones."""
    counters, expected = contents.counters, contents.counters.first
    paths = segment_paths(directory)
    contents.obsolete = [path for path in paths if counters.has_removed(int(path.stem))]
    paths = [path for path in paths if path not in contents.obsolete]
    previous = segment_path(directory, expected)
    for path in paths:
        segment = Segment(path, state.log_id, int(path.stem))
        expected = next((ends for begins, ends in counters.gaps if begins == expected), expected)
        if segment.first != expected:
            contents.problems.append(_describe_missing(previous, expected, segment.first))
        following = paths[paths.index(path) + 1 :]
        damage = _load(segment, state, int(following[0].stem) if following else None)
        contents.problems.extend(damage)
        contents.segments.append(segment)
        previous, expected = path, int(following[0].stem) if damage and following else segment.end
    if not paths or (not contents.problems and expected < state.required):
        contents.problems.append(_describe_missing(previous, expected, state.required))


def _load(segment: Segment, state: Acknowledged, following: int | None) -> list[Problem]:
    """Read the groups of a segment; return its damage.

    Args:
        segment: the segment without its groups.
        state: the positions of the log.
        following: the position at which the next segment begins; None for the newest one.
    """
    content = segment.path.read_bytes()
    header = decode_header(content)
    if header is None:
        what = "damaged at byte 0" if content else "the file is empty"
        what = f"{what}: this segment of the write-ahead log had the messages from {segment.first} on"
        return [_problem(segment.path, what)]
    if header != (segment.log_id, segment.first):
        what = "the file belongs to another write-ahead log, or has the name of another segment"
        return [_problem(segment.path, what)]
    for group in intact_groups(content, segment.log_id):
        segment.add(group.count, group.ends - segment.size)
    if segment.size == len(content):
        return []
    intact = find_groups(content, segment.size, segment.log_id)
    later = [group for group in intact if group.position > segment.end]
    if following is None:
        required = max(state.required, *(group.durable for group in later), 0)
        torn = state.exact or is_torn(content, segment.size, segment.log_id)
        if segment.end >= required and torn:
            return []
    ends = later[0].position if later else following or max(state.required, segment.end + 1)
    what = (
        f"damaged at byte {segment.size}: the messages {segment.end} to {ends - 1} of the write-ahead log "
        f"cannot be read; {sum(group.count for group in later)} messages after them in this file are intact"
    )
    return [_problem(segment.path, what)]


def _describe_missing(previous: Path, begins: int, ends: int) -> Problem:
    """Describe messages between two segments, or after the last one, that are in no file."""
    if not previous.exists():
        what = f"the file is missing, and with it the messages {begins} to {ends - 1} of the write-ahead log"
    elif ends < begins:
        what = f"the file and the next one both have the messages {ends} to {begins - 1}"
    else:
        what = (
            f"the messages {begins} to {ends - 1} of the write-ahead log are missing: the file is cut off or "
            "an older version, or the file after it was deleted"
        )
    return _problem(previous, what)


def _problem(path: Path, what: str) -> Problem:
    return Problem(str(path), what, HINT)
