"""Counters of a log, and which records were removed from it; stored beside the segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from headrace.connectors.durable_files import read_json, write_json
from headrace.connectors.write_ahead_log.segments import Segment

FILE = "counters.json"


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
    log: str = ""
    """The id of the log, which its other files have, too."""
    first: int = 0
    """The position of the oldest record. It is stored before the records before it are removed."""
    gaps: list[list[int]] = field(default_factory=list)
    """Ranges of positions after `first` that were dropped."""
    delivered: int = 0
    """The position up to which records were removed because they were delivered."""
    ids: int = 0
    """The position at which the message ids were stored; 0 if there are none."""

    @property
    def dropped(self) -> int:
        """The messages that no epoch will contain."""
        return self.dropped_newest + self.dropped_oldest + self.too_large

    @classmethod
    def read(cls, directory: Path) -> Counters | None:
        """Read the counters of a log; None if there is no file.

        Raises:
            DamagedFileError: the file is damaged.
        """
        values = read_json(directory / FILE, None)
        return None if values is None else cls(**values)

    def store(self, directory: Path) -> None:
        """Write the counters durably."""
        write_json(directory / FILE, asdict(self))

    def remove(self, segments: Iterable[Segment]) -> None:
        """Record the removal of segments."""
        for segment in segments:
            if segment.first == self.first:
                self.first = segment.end
            elif self.gaps and self.gaps[-1][1] == segment.first:
                self.gaps[-1][1] = segment.end
            else:
                self.gaps.append([segment.first, segment.end])
            if self.gaps and self.gaps[0][0] == self.first:
                self.first = self.gaps.pop(0)[1]

    def has_removed(self, position: int) -> bool:
        """True if the record at a position was removed."""
        return position < self.first or any(begins <= position < ends for begins, ends in self.gaps)
