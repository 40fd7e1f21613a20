"""Snapshots of reloaded lookup tables in the checkpoint directory, one version per reload.

`<checkpoint of the query>/lookups/<step>/<version>.arrow` has key and values of every row, as text. If the
table cannot be read, the last version is used.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow

from headrace.checkpoints.epoch_versions import EpochVersions
from headrace.connectors.flatten import from_text, json_text, quote_name
from headrace.connectors.lookups import Key, Values
from headrace.schemas.fields import Schema
from headrace.sealed_files import read_current, read_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

_log = logging.getLogger("headrace")
_SUFFIX = ".arrow"


@dataclass(frozen=True)
class SnapshotTable:
    """The snapshots of one lookup as a `KeyTable`."""

    directory: str
    width: int
    columns: Mapping[str, str]
    address: str
    retry_timeout: float = 0.0

    def connect(self) -> SnapshotReader:
        return SnapshotReader(self)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        return None

    def is_unavailable(self, error: Exception) -> bool:
        return False


@dataclass
class SnapshotReader:
    """Reads the active version of a table in a worker process."""

    table: SnapshotTable
    _version: str = ""
    _rows: dict[Key, list[Values]] = field(default_factory=dict)

    def rows(self, keys: Sequence[Key]) -> Mapping[Key, Sequence[Values]]:
        version, _ = read_current(Path(self.table.directory))
        if version != self._version:
            self._rows, self._version = self._load(version), version
        return {key: self._rows[key] for key in keys if key in self._rows}

    def close(self) -> None:
        """Do nothing; no file is open."""

    def _load(self, version: str) -> dict[Key, list[Values]]:
        rows: dict[Key, list[Values]] = {}
        stored = read_version(Path(self.table.directory), f"{version}{_SUFFIX}")
        with pyarrow.ipc.open_file(pyarrow.BufferReader(stored)) as content:
            columns = [column.to_pylist() for column in content.read_all().columns]
        for row in zip(*columns, strict=True):
            rows.setdefault(row[: self.table.width], []).append(row[self.table.width :])
        return rows


class Snapshots:
    """Loads the snapshots of one lookup and selects the version of each epoch, on the driver.

    Args:
        step: the lookup.
        directory: the directory of the snapshots.
        read: reads the table.
        on: the key columns.
        refresh: the time between two loads, in seconds.
        version_of: returns text that changes with the table, such as the modification time of a file; None to
            reload the table every time.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        step: str,
        directory: Path,
        read: Callable[[], DataFrame],
        on: Sequence[str],
        refresh: float,
        *,
        version_of: Callable[[], str | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._step, self._read = step, read
        self._versions = EpochVersions(directory, _SUFFIX)
        self._on, self._refresh = tuple(on), refresh
        self._version_of, self._clock = version_of, clock
        self._loaded_at: float | None = None
        self._content = ""

    def table(self, address: str) -> SnapshotTable:
        """Return the table that workers read."""
        frame = self._read()
        added = [column for column in frame.schema if column.name not in self._on]
        casts = {column.name: _from_text(frame, column) for column in added}
        return SnapshotTable(str(self._versions.directory), len(self._on), casts, address)

    def enter(self, epoch: int) -> None:
        """Activate the version of an epoch: the recorded one in a replay, otherwise the newest."""
        self._versions.enter(epoch, self._choose)

    def _choose(self, version: str | None) -> str:
        return self._reload(version) if self._is_due() or version is None else version

    def _is_due(self) -> bool:
        return self._loaded_at is None or self._clock() - self._loaded_at >= self._refresh

    def _reload(self, version: str | None) -> str:
        """Return a new version, or the last one if the table is unchanged or cannot be read."""
        self._loaded_at = self._clock()
        try:
            content = self._version_of()
            if version is not None and content is not None and content == self._content:
                return version
            number = str(self._versions.next_number())
            self._write(number)
            self._content = content or ""
        except Exception as error:
            if version is None:
                raise
            _log.warning("`%s`: cannot reload the table, the last version is used: %s", self._step, error)
            return version
        return number

    def _write(self, version: str) -> None:
        content = _as_text(self._read(), self._on).toArrow()
        buffer = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_file(buffer, content.schema) as file:
            file.write_table(content)
        self._versions.store(version, buffer.getvalue().to_pybytes())


def _as_text(frame: DataFrame, on: Sequence[str]) -> Any:
    """Return key and values as text, without rows that have a null key."""
    others = [name for name in frame.columns if name not in on]
    texts = [
        _to_text(quote_name(name), frame.schema[name].dataType.simpleString()) for name in (*on, *others)
    ]
    named = [f"{text} as `_{number}`" for number, text in enumerate(texts)]
    return frame.dropna(subset=list(on)).selectExpr(*named)


def _to_text(path: str, kind: str) -> str:
    if kind.startswith(("array", "map", "struct")):
        return json_text(path)
    return f"hex({path})" if kind == "binary" else f"cast({path} as string)"


def _from_text(frame: DataFrame, column: StructField) -> str:
    kind = column.dataType.simpleString()
    if kind.startswith(("array", "map", "struct")):  # this text has names without quotes
        kind = str(Schema.of(frame.select(quote_name(column.name)).schema)[column.name].type)
    return "unhex({})" if kind == "binary" else from_text(kind)
