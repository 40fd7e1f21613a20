"""Plans the epochs of a Delta source on the driver.

An offset is `{"snapshot": 7, "version": 9, "files": 2}`: the source began with all files of version 7, and
has read two files of version 9 and everything before. `snapshot` is null if it began with an empty table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.connectors.delta.location import Session
from headrace.connectors.delta.log import AddedFile, commit_files, snapshot_files
from headrace.connectors.driver_source import Offset
from headrace.connectors.failpoints import reach
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import ReconnectingSession

if TYPE_CHECKING:
    from headrace.connectors.delta import DeltaLake


class VersionEnumerator:
    """The split enumerator of a table."""

    def __init__(self, options: DeltaLake, source: str) -> None:
        self._options = options
        self._every = seconds_of(options.every)
        self._session: ReconnectingSession[Session] = ReconnectingSession(
            options.location, 0, reads="the Delta table", source=source
        )
        self._final: int | None = None
        """The last version of a run that ends with the available rows."""
        self._files: dict[int, list[AddedFile]] = {}
        """The files of versions that are not delivered yet."""

    def initial(self) -> Offset:
        return self._session.retry(self._find_start)

    def available(self) -> None:
        self._final = self._session.retry(lambda session: session.newest().version())

    def latest(self, start: Offset) -> Offset:
        for version in [version for version in self._files if version < start["version"]]:
            del self._files[version]
        if self._final is not None:
            return self._session.retry(lambda session: self._plan(session, start))
        return self._session.poll(self._every, start, lambda session: self._plan(session, start))

    def splits(self, start: Offset, end: Offset) -> list[bytes]:
        files = self._session.retry(lambda session: self._between(session, start, end))
        reach("delta.planned")
        return [file.encode() for file in files]

    def commit(self, end: Offset) -> None:
        """Do nothing: the table keeps its versions."""

    def close(self) -> None:
        self._session.close()

    def _find_start(self, session: Session) -> Offset:
        start: Any = self._options.start
        table = session.newest()
        if start == "latest":
            return {"snapshot": None, "version": table.version() + 1, "files": 0}
        if start != "earliest":
            table.load_as_version(start["version"] if "version" in start else start["time"])
        version = table.version()
        session.close()  # the session must return to the newest version
        return {"snapshot": version, "version": version, "files": 0}

    def _plan(self, session: Session, start: Offset) -> Offset:
        """Return the offset after the next files."""
        newest = session.newest().version() if self._final is None else self._final
        version, read = start["version"], start["files"]
        left = self._options.max_files_per_batch
        while version <= newest and left:
            files = len(self._files_of(session, version, start))
            taken = min(left, files - read)
            left, read = left - taken, read + taken
            if read == files:
                version, read = version + 1, 0
        return {**start, "version": version, "files": read}

    def _between(self, session: Session, start: Offset, end: Offset) -> list[AddedFile]:
        files: list[AddedFile] = []
        for version in range(start["version"], end["version"] + 1):
            first = start["files"] if version == start["version"] else 0
            last = end["files"] if version == end["version"] else None
            if last != 0:  # the version after the last one may not exist yet
                files += self._files_of(session, version, start)[first:last]
        return files

    def _files_of(self, session: Session, version: int, offset: Offset) -> list[AddedFile]:
        if version not in self._files:
            if version == offset["snapshot"]:
                self._files[version] = snapshot_files(session.location, version)
            else:
                skip = self._options.on_change == "skip"
                self._files[version] = commit_files(session, version, skip_changes=skip)
        return self._files[version]
