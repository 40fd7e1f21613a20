"""Counters of a log, and the position up to which epochs are planned; stored beside the segments."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from headrace.connectors.durable_files import read_json, write_json

_FILE = "counters.json"


@dataclass
class Counters:
    """Messages since the checkpoint began.

    received = stored + duplicates + dropped_newest + refused + too_large
    """

    received: int = 0
    stored: int = 0
    duplicates: int = 0
    dropped_newest: int = 0
    dropped_oldest: int = 0
    """Messages that were stored, then removed before an epoch contained them."""
    refused: int = 0
    """Messages returned to their sender under backpressure; it sends them again."""
    too_large: int = 0
    planned: int = 0
    """The end of the last planned epoch: records before it are never dropped."""

    @property
    def dropped(self) -> int:
        """The messages that no epoch will contain."""
        return self.dropped_newest + self.dropped_oldest + self.too_large

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read the counters of a log; zero if it is new."""
        return cls(**read_json(directory / _FILE, {}))

    def store(self, directory: Path) -> None:
        """Write the counters durably."""
        write_json(directory / _FILE, asdict(self))
