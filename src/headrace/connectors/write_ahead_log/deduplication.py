"""Removes redelivered messages by the message id of their protocol.

The ids of the newest messages are held in memory. They are read from the records when a log is opened;
those of records that were removed are in a file beside the segments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from headrace.connectors.durable_files import HINT, read_json, write_json
from headrace.connectors.write_ahead_log.counters import Counters
from headrace.errors import DamagedFileError

FILE = "ids.json"
WINDOW = 100_000
"""The number of messages within which a redelivery is recognised."""


class MessageIds:
    """The ids of the newest messages."""

    def __init__(self, identities: Iterable[str] = ()) -> None:
        self._ids: dict[str, None] = dict.fromkeys(identities)

    def __contains__(self, identity: str) -> bool:
        return identity in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def update(self, identities: Iterable[str]) -> None:
        """Add ids as the newest, and remove the oldest beyond the window."""
        for identity in identities:
            self._ids.pop(identity, None)
            self._ids[identity] = None
            if len(self._ids) > WINDOW:
                del self._ids[next(iter(self._ids))]

    def store(self, directory: Path, log: str, end: int, without: Collection[str] = ()) -> None:
        """Write the ids to disk; called before records are removed.

        Args:
            directory: the directory of the log.
            log: the id of the log.
            end: the position up to which the ids are those of durable records.
            without: ids of messages that are not durable yet. After a crash their sender delivers them again,
                and they must then be stored.
        """
        ids = [identity for identity in self._ids if identity not in without]
        write_json(directory / FILE, {"log": log, "end": end, "ids": ids})


def read_ids(directory: Path, counters: Counters) -> MessageIds:
    """Read the ids of the records that were removed.

    Raises:
        DamagedFileError: the file is damaged, missing or older than the removal of the last records.
    """
    path = directory / FILE
    values = read_json(path, {"log": counters.log, "end": 0, "ids": []})
    if values["log"] != counters.log or values["end"] < counters.ids:
        state = "is missing" if not path.exists() else "is of another log, or an older version"
        what = f"the file {state}: messages that are delivered again would not be recognised"
        raise DamagedFileError(what, where=str(path), hint=HINT)
    return MessageIds(values["ids"])
