"""Named savepoints: copies of the checkpoint directory of a pipeline that is not running.

They are stored in `<directory>.savepoints/<name>`. Immutable files (Spark's checkpoint, Parquet files) are
hard links if the file system supports them; all others are copied.

A restored savepoint has new checkpoint ids, so that sinks do not mistake its epochs for those that were
committed after the savepoint. Exchanges and unrouted outputs are part of the savepoint; their ledgers get the
new ids as well, because their committed epochs must not be written again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from headrace.checkpoints.directory import PipelineDirectory, restoring_path
from headrace.checkpoints.layout import (
    CHECKPOINT_ID,
    list_checkpoints,
    progress_of,
    read_checkpoint_id,
    renew_checkpoint_id,
    require_checkpoints,
)
from headrace.checkpoints.owner import is_of_0_2
from headrace.connectors.durable_files import read_json, write_durably, write_json
from headrace.errors import OptionError, did_you_mean
from headrace.sealed_files import RESTORE, is_sealed, seal, unseal

RECORD = "savepoint.json"
_SEALED_NAME = Path("savepoint") / RECORD
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NOT_COPIED = frozenset({"lock", "logs", "standby"})
"""Entries of the directory that belong to a run, not to its state."""


@dataclass(frozen=True)
class Savepoint:
    """A savepoint, and the last epoch of each query in it."""

    name: str
    pipeline: str
    directory: str
    """The checkpoint directory that was copied; exchanges contain paths inside it."""
    created_at: str
    epochs: dict[str, int | None]

    @property
    def path(self) -> Path:
        return savepoints_path(Path(self.directory)) / self.name


def savepoints_path(directory: Path) -> Path:
    """Return the directory that holds the savepoints of a checkpoint directory."""
    return directory.with_name(f"{directory.name}.savepoints")


def create_savepoint(pipeline: str, directory: Path, name: str) -> Savepoint:
    """Copy the checkpoint of a pipeline that is not running.

    Raises:
        OptionError: the name is invalid or taken, there is no checkpoint, or the pipeline is running or
            drained.
    """
    if not _NAME.fullmatch(name):
        hint = "letters, digits, `_`, `-` and `.`, such as before-v2"
        raise OptionError(f"invalid savepoint name {name!r}", where="savepoint", hint=hint)
    target = savepoints_path(directory) / name
    if target.exists():
        hint = "choose another name, or delete it with headrace savepoint delete"
        raise OptionError(f"the savepoint `{name}` already exists", where=str(target.parent), hint=hint)
    require_checkpoints(directory)
    acquired = PipelineDirectory.acquire(pipeline, directory)
    draft = target.with_name(f".{name}.{os.getpid()}")
    try:
        _copy_tree(directory, draft)
        savepoint = _describe(pipeline, directory, name)
        write_json(draft / RECORD, asdict(savepoint), name=_SEALED_NAME)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        acquired.release()
    return savepoint


def list_savepoints(directory: Path) -> list[Savepoint]:
    """Return the savepoints of a checkpoint directory, oldest first."""
    savepoints = map(read_savepoint, savepoints_path(directory).glob("[!.]*"))
    return sorted(filter(None, savepoints), key=lambda savepoint: savepoint.created_at)


def find_savepoint(directory: Path, name: str) -> Savepoint:
    """Return a savepoint by its name.

    Raises:
        OptionError: there is no such savepoint.
    """
    known = {savepoint.name: savepoint for savepoint in list_savepoints(directory)}
    if name not in known:
        hint = did_you_mean(name, known) if known else "create one with headrace savepoint create FILE NAME"
        raise OptionError(f"unknown savepoint `{name}`", where=str(directory), hint=hint)
    return known[name]


def read_savepoint(path: Path) -> Savepoint | None:
    """Return the savepoint in a directory; None if there is none.

    Raises:
        OptionError: version 0.2 has written it.
        DamagedFileError: its record is damaged.
    """
    record = path / RECORD
    if record.exists() and not is_sealed(record.read_bytes()) and is_of_0_2(path):
        what = "the savepoint was written by headrace 0.2, whose files have no checksums"
        raise OptionError(what, where=str(path), hint=f"upgrade it with headrace checkpoint upgrade {path}")
    values = read_json(record, None, name=_SEALED_NAME)
    return None if values is None else Savepoint(**values)


def restore_savepoint(pipeline: str, directory: Path, name: str) -> Path | None:
    """Replace the checkpoint directory by a copy of a savepoint.

    Returns:
        The path that the previous checkpoint was moved to; None if there was none.

    Raises:
        OptionError: there is no such savepoint, it is of another directory or pipeline, or the pipeline is
            running.
    """
    savepoint = find_savepoint(directory, name)
    if Path(savepoint.directory) != directory.absolute():
        what = f"the savepoint `{name}` contains paths of the directory {savepoint.directory}"
        raise OptionError(what, where=str(directory), hint="move the directories back and restore it there")
    draft = restoring_path(directory)
    shutil.rmtree(draft, ignore_errors=True)
    _copy_tree(savepoint.path, draft)
    (draft / RECORD).unlink()
    renew_checkpoint_ids(draft)
    return PipelineDirectory.replace(pipeline, directory, draft)


def delete_savepoint(directory: Path, name: str) -> None:
    """Delete a savepoint.

    Raises:
        OptionError: there is no such savepoint.
    """
    path = savepoints_path(directory) / find_savepoint(directory, name).name
    draft = path.with_name(f".{name}.deleted")  # hidden first, so that a crash leaves no partial savepoint
    path.rename(draft)
    shutil.rmtree(draft)


def renew_checkpoint_ids(directory: Path) -> None:
    """Write new checkpoint ids for all queries of a copied checkpoint directory."""
    ids: dict[str, str] = {}
    for file in directory.glob(f"queries/*/{CHECKPOINT_ID}"):
        before = read_checkpoint_id(file.parent)
        ids[before] = renew_checkpoint_id(file.parent)
    for kind in ("exchange", "unrouted"):
        for entry in directory.glob(f"{kind}/*/_headrace/*/log/[0-9]*"):
            text = unseal(entry.read_bytes(), entry, hint=RESTORE).decode()
            renewed = re.sub("|".join(ids) or "$^", lambda match: ids[match[0]], text)
            write_durably(entry, seal(renewed.encode(), entry))


def _describe(pipeline: str, directory: Path, name: str) -> Savepoint:
    epochs = {path.name: progress_of(path).epoch for path in list_checkpoints(directory)}
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Savepoint(name, pipeline, str(directory.absolute()), at, epochs)


def _copy_tree(source: Path, target: Path) -> None:
    def ignore(path: str, names: Sequence[str]) -> set[str]:
        return set(names) & _NOT_COPIED if Path(path) == source else set()

    def copy(file: str, to: str) -> None:
        if _is_immutable(Path(file).relative_to(source)):
            _link(file, to)
        else:
            shutil.copy2(file, to)

    shutil.copytree(source, target, ignore=ignore, copy_function=copy)


def _is_immutable(file: Path) -> bool:
    """True for files that are never changed after they are visible."""
    of_spark = file.parts[:1] == ("queries",) and file.parts[2:3] == ("spark",)
    return of_spark or file.suffix == ".parquet"


def _link(file: str, to: str) -> None:
    try:
        os.link(file, to)
    except OSError:  # another device, or a file system without hard links
        shutil.copy2(file, to)
