"""Driver-side sources: offsets are planned on the driver, in Python, and tasks read the splits between them.

A *split enumerator* lives on the driver, in the process of the run. Spark requests the end of each epoch from
it, stores that offset in the checkpoint, and requests the *splits* of the epoch, which tasks turn into rows.
A source that reads the same rows again between two offsets is replayable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from headrace.connectors.base import Connector
from headrace.connectors.options import seconds_of

Offset = dict[str, Any]
"""An offset: plain data, stored as JSON in Spark's checkpoint."""


class SplitEnumerator(Protocol):
    """Plans the epochs of a source. Called by one query, one call at a time."""

    def initial(self) -> Offset:
        """Return the offset at which a new checkpoint begins."""
        ...

    def available(self) -> None:
        """Fix the end of the source: the run processes the available records and stops."""
        ...

    def latest(self, start: Offset) -> Offset:
        """Return the end of the next epoch; `start` if there is nothing new.

        Everything before `start` is delivered.
        """
        ...

    def splits(self, start: Offset, end: Offset) -> Sequence[bytes]:
        """Return the splits of an epoch, one per task. The same range always gives the same rows."""
        ...

    def commit(self, end: Offset) -> None:
        """Acknowledge that everything up to an offset is delivered."""
        ...

    def close(self) -> None:
        """Release the server."""
        ...


class DriverSource(Connector):
    """A connector whose source is planned on the driver. If it has a server, it declares `retry_timeout`."""

    driver_side: ClassVar[bool] = True

    @property
    def retry_seconds(self) -> float:
        """The retry timeout in seconds; 0 without a server."""
        return seconds_of(getattr(self, "retry_timeout", "0 seconds"))
