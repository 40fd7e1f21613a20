"""Upgrade of a checkpoint directory of version 0.2: its files get checksums, in place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from headrace.checkpoints.integrity.verification import JOURNALS
from headrace.checkpoints.journal import seal_line
from headrace.checkpoints.layout import (
    CHECKPOINT_ID,
    list_checkpoints,
    renew_checkpoint_id,
    require_checkpoints,
)
from headrace.checkpoints.lock import DirectoryLock
from headrace.checkpoints.owner import is_of_0_2, upgrading_path, write_owner
from headrace.checkpoints.savepoints import RECORD
from headrace.checkpoints.signatures import NAME as STEP
from headrace.checkpoints.sources import NAME as SOURCES
from headrace.connectors.durable_files import sync_directory, write_durably
from headrace.sealed_files import is_sealed, seal


def upgrade_checkpoint(directory: Path) -> int:
    """Seal the files of a checkpoint, or of a savepoint, that version 0.2 has written.

    Can be repeated, also after it was killed.

    Returns:
        The number of files that were sealed; 0 if the directory has the present layout.

    Raises:
        OptionError: there is no checkpoint, or a run is using it.
    """
    require_checkpoints(directory)
    lock = DirectoryLock(directory / "lock")
    lock.acquire()
    try:
        return _upgrade(directory)
    finally:
        lock.release()


def _upgrade(directory: Path) -> int:
    marker = upgrading_path(directory)
    if not marker.exists():
        if not is_of_0_2(directory):
            return 0
        marker.touch()
        sync_directory(directory)
    count = sum(_seal(file, name) for file, name in _sealed_files(directory))
    count += sum(map(_seal_lines, _journals(directory)))
    for checkpoint in list_checkpoints(directory):
        if not (checkpoint / CHECKPOINT_ID).exists():  # version 0.2 wrote none in real-time mode
            renew_checkpoint_id(checkpoint)
            count += 1
    owner = directory / "pipeline"
    if not is_sealed(owner.read_bytes()):
        write_owner(directory, owner.read_text())
        count += 1
    marker.unlink()
    sync_directory(directory)
    return count


def _seal(file: Path, name: Path) -> bool:
    content = file.read_bytes()
    if is_sealed(content):
        return False
    if file.name == CHECKPOINT_ID:
        content = json.dumps(content.decode()).encode()
    write_durably(file, seal(content, name))
    return True


def _seal_lines(journal: Path) -> bool:
    """Seal each line of a log, without an incomplete last one."""
    content = journal.read_bytes()
    before, sealed = journal.name.replace(".1.jsonl", ".jsonl").encode(), b""
    if b" #seal " in content.partition(b"\n")[0][-40:]:
        return False
    for line in content.split(b"\n")[:-1]:
        try:
            json.loads(line)
        except ValueError:  # left by a run that was killed while it wrote the line
            continue
        sealed += seal_line(line, before)
        before = sealed[-33:-1]
    write_durably(journal, sealed)
    return True


def _sealed_files(directory: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files to seal, with the names they are sealed with."""
    for query in directory.glob("queries/*"):
        for record in (STEP, SOURCES, CHECKPOINT_ID):
            if (query / record).exists():
                yield query / record, Path("query") / record
        for file in (query / "spark").rglob("*"):
            if file.is_file() and not file.name.startswith(".") and not _is_state(file.relative_to(query)):
                yield file, file
    patterns = (
        "queries/*/watermarks/*/[0-9]*.json",
        "queries/*/lookups/*/current", "queries/*/lookups/*/*.arrow", "exchange/*/_headrace/*/log/[0-9]*",
        "unrouted/*/_headrace/*/log/[0-9]*", "sources/*/*.json", "sources/*/log/*.json", "sinks/*/*.json",
    )  # fmt: skip
    for pattern in patterns:
        yield from ((file, file) for file in directory.glob(pattern))
    if (directory / RECORD).exists():
        yield directory / RECORD, Path("savepoint") / RECORD


def _is_state(file: Path) -> bool:
    """Return True for a file of a partition, `spark/state/0/0/...`, which has Spark's checksums."""
    parts = file.parts
    return parts[1:2] == ("state",) and len(parts) > 4 and parts[3].isdigit() and parts[-2] != "_metadata"


def _journals(directory: Path) -> Iterator[Path]:
    for pattern in JOURNALS:
        for journal in directory.glob(f"queries/*/{pattern}"):
            rotated = journal.with_suffix(".1.jsonl")
            yield from (file for file in (rotated, journal) if file.exists())
