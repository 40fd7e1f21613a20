"""The location of a Delta table: its address, its files, and the meaning of errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.extras import import_client
from headrace.errors import without_passwords

if TYPE_CHECKING:
    from deltalake import DeltaTable

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NOISE = re.compile(r"^\s*(\d+: .*|at /.*)?$")
"""Lines of a Rust stack trace."""
_HINTS = {
    "No space left": "free space on the disk, then run again",
    "Permission denied": "is the directory readable and writable by this user?",
    "os error 20": "the path is a file; name a directory",
    "credentials": "set the credentials of the store in the environment or in `storage`",
    "Json error": "the log of the table is damaged: restore the file in _delta_log from a backup",
    "found gap": "the log of the table is damaged: restore the file in _delta_log from a backup",
    "Unknown scheme": "name a directory, or an address such as s3://lake/totals",
    "not found": "VACUUM has removed a file that is still needed; keep files longer, and start with --fresh",
    "No files in log segment": "create the table, or check the path",
    "does not exist": "create the table, or check the path",
}


@dataclass(frozen=True)
class Location:
    """The directory of a table. Holds no connection, so it can be sent to executors."""

    uri: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def address(self) -> str:
        """The location, without passwords."""
        return without_passwords(self.uri)

    def connect(self) -> Session:
        """Return a session that reads the table; it is opened on first use."""
        return Session(self)

    def load_table(self, version: int | None = None) -> DeltaTable:
        """Open the table at a version; default: the newest."""
        deltalake = import_client("deltalake", extra="delta")
        table: DeltaTable = deltalake.DeltaTable(self.uri, version, storage_options=dict(self.settings))
        return table

    def has_table(self) -> bool:
        """True if there is a table; a corrupt one raises an error when it is opened."""
        deltalake = import_client("deltalake", extra="delta")
        return bool(deltalake.DeltaTable.is_deltatable(self.uri, dict(self.settings)))

    def create_directory(self) -> None:
        """Create the directory, if it is on a local disk; object stores have none."""
        scheme, separator, rest = self.uri.partition("://")
        if not separator or scheme == "file":
            Path(rest if separator else self.uri).mkdir(parents=True, exist_ok=True)

    def open_files(self) -> Any:
        """Return the file system of the table's directory; paths are relative to it."""
        import_client("deltalake", extra="delta")
        from deltalake.fs import DeltaStorageHandler
        from pyarrow.fs import PyFileSystem

        return PyFileSystem(DeltaStorageHandler(self.uri, dict(self.settings)))

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        """Return message and hint of an error of the table or its store; None for any other error."""
        from pyarrow.lib import ArrowException

        exceptions = import_client("deltalake.exceptions", extra="delta")
        if not isinstance(error, exceptions.DeltaError | OSError | ArrowException):
            return None
        message = _describe(error)
        hint = next((hint for text, hint in _HINTS.items() if text in message), "")
        if self.is_unavailable(error):
            hint = (
                "other writers change the table at the same time; raise `retry_timeout`, or write less often"
            )
        return message, hint

    def is_unavailable(self, error: Exception) -> bool:
        """True if a commit of another writer was faster; the store is retried by delta-rs itself."""
        exceptions = import_client("deltalake.exceptions", extra="delta")
        return isinstance(error, exceptions.CommitFailedError)


class Session:
    """The table and its files, opened on first use and refreshed by `newest`."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._table: DeltaTable | None = None
        self._files: Any = None

    def newest(self) -> DeltaTable:
        """Return the newest version of the table."""
        if self._table is None:
            self._table = self.location.load_table()
        else:
            self._table.update_incremental()
        return self._table

    @property
    def files(self) -> Any:
        """The file system of the table's directory."""
        if self._files is None:
            self._files = self.location.open_files()
        return self._files

    def close(self) -> None:
        """Drop the table, which is opened again on the next use."""
        self._table = self._files = None


def _describe(error: Exception) -> str:
    """Return the message of delta-rs in one line, without colours and stack traces."""
    lines = _COLOUR.sub("", str(error)).splitlines()
    parts = [line.strip().lstrip("↳ ") for line in lines if not _NOISE.match(line)]
    return ": ".join(dict.fromkeys(part for part in parts if part))[:500] or type(error).__name__
