"""The versions of a Delta table as a source reads them: the files of a snapshot, and those of a commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from headrace.connectors.delta.location import Location, Session
from headrace.errors import SourceError

_MAPPING = "delta.columnMapping.mode"


@dataclass(frozen=True)
class AddedFile:
    """A data file: its path relative to the table, and the values of its partition columns as text."""

    path: str
    partition: Mapping[str, str | None]

    def encode(self) -> bytes:
        """Return the file as a split that is sent to a task."""
        return json.dumps([self.path, self.partition]).encode()

    @classmethod
    def decode(cls, content: bytes) -> AddedFile:
        """Read a split from `encode`."""
        return cls(*json.loads(content))


def snapshot_files(location: Location, version: int | None = None) -> list[AddedFile]:
    """Return the files of a version, in the order of their paths; default: the newest version.

    Raises:
        SourceError: the table uses deletion vectors or mapped column names.
    """
    import pyarrow

    table = location.load_table(version)
    features = table.protocol().reader_features or []
    if "deletionVectors" in features and pyarrow.table(table.deletion_vectors()).num_rows:
        raise _unsupported("deletion vectors", "rewrite its files: REORG TABLE ... APPLY (PURGE)")
    if table.metadata().configuration.get(_MAPPING, "none") != "none":
        raise _unsupported("column mapping", "copy it to a table without column mapping")
    actions = pyarrow.table(table.get_add_actions(flatten=False))
    partitions = actions.column("partition").to_pylist() if "partition" in actions.column_names else None
    values: Iterable[Any] = partitions or [{}] * actions.num_rows
    paths = map(unquote, actions.column("path").to_pylist())
    files = (AddedFile(path, _texts(value)) for path, value in zip(paths, values, strict=True))
    return sorted(files, key=lambda file: file.path)


def commit_files(session: Session, version: int, *, skip_changes: bool) -> list[AddedFile]:
    """Return the files with new rows of one version, in the order of their paths.

    Args:
        session: the table.
        version: the version.
        skip_changes: whether a version that changes or deletes rows has no files, instead of being an error.

    Raises:
        SourceError: the version changes or deletes rows, or is no longer in the log.
    """
    actions = _read_commit(session, version)
    added = [action["add"] for action in actions if action.get("add", {}).get("dataChange")]
    removed = [action["remove"] for action in actions if action.get("remove", {}).get("dataChange")]
    if removed and skip_changes:
        return []
    if removed:
        operation = next((a["commitInfo"].get("operation") for a in actions if "commitInfo" in a), "a commit")
        raise SourceError(
            f"version {version} of the table changes or deletes rows ({operation})",
            hint='a source reads added rows only; on_change="skip" ignores such versions',
        )
    if any(file.get("deletionVector") for file in added):
        raise _unsupported("deletion vectors", "rewrite its files: REORG TABLE ... APPLY (PURGE)")
    files = (AddedFile(unquote(file["path"]), file.get("partitionValues") or {}) for file in added)
    return sorted(files, key=lambda file: file.path)


def _read_commit(session: Session, version: int) -> Sequence[Mapping[str, Any]]:
    try:
        with session.files.open_input_stream(f"_delta_log/{version:020d}.json") as stream:
            content = stream.read()
        return [json.loads(line) for line in content.splitlines() if line.strip()]
    except FileNotFoundError:
        raise SourceError(
            f"version {version} is no longer in the log of the table",
            hint="raise delta.logRetentionDuration; to continue with the newest rows, start with --fresh",
        ) from None
    except ValueError as error:
        raise SourceError(
            f"version {version} in the log of the table is damaged: {error}",
            hint="restore the file in _delta_log from a backup",
        ) from error


def _texts(values: Mapping[str, Any] | None) -> dict[str, str | None]:
    return {name: None if value is None else _text(value) for name, value in (values or {}).items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unsupported(feature: str, hint: str) -> SourceError:
    return SourceError(f"the table uses {feature}, which this source does not read", hint=hint)
