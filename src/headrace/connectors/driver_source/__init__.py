"""Sources that this process follows by itself: it knows positions and how to read between them, Spark does the rest.

A *follower* lives on the driver, in the engine's own process. Spark asks it where an epoch ends, writes that down, and gets
the *pieces* of the epoch from it, which tasks turn into rows. Whoever can read the same rows again between two positions
has a source that loses and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Position = dict[str, Any]
"""Plain data, kept as JSON in Spark's checkpoint."""


class Follower(Protocol):
    """Knows how far a source goes. Called by one query, one call at a time."""

    def initial(self) -> Position:
        """Where a new checkpoint begins."""
        ...

    def available(self) -> None:
        """The run takes what is there now and ends: from here on nothing newer is there."""
        ...

    def latest(self, start: Position) -> Position:
        """The end of the next epoch; `start` if there is nothing new. All before `start` has been delivered."""
        ...

    def pieces(self, start: Position, end: Position) -> Sequence[bytes]:
        """What tasks need to read an epoch, a piece for each; the same range gives the same rows."""
        ...

    def commit(self, end: Position) -> None:
        """All up to here has been delivered."""
        ...

    def close(self) -> None:
        """Let go of the server."""
        ...
