"""Removes redelivered messages by the message id of their protocol.

The ids of the newest messages are held in memory. They are read from the records when a log is opened;
those of records that were removed are in a file beside the segments.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headrace.connectors.durable_files import read_json, write_json

WINDOW = 100_000
"""The number of messages within which a redelivery is recognised."""


class MessageIds:
    """The ids of the newest messages."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "ids.json"
        self._ids: dict[str, None] = dict.fromkeys(read_json(self._path, []))

    def __contains__(self, identity: str) -> bool:
        return identity in self._ids

    def update(self, identities: Iterable[str]) -> None:
        """Add ids as the newest, and remove the oldest beyond the window."""
        for identity in identities:
            self._ids.pop(identity, None)
            self._ids[identity] = None
            if len(self._ids) > WINDOW:
                del self._ids[next(iter(self._ids))]

    def store(self) -> None:
        """Write the ids to disk; called before records are removed."""
        if self._ids:
            write_json(self._path, list(self._ids))
