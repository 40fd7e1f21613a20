"""Finds out, on the driver, how far a table has grown."""

from __future__ import annotations

import time

from headrace.connectors.sql.dialect import Database
from headrace.connectors.sql.patience import Line
from headrace.connectors.sql.polling import Marks, Offset, Polled, Polling


class Poller:
    """A follower of one table."""

    def __init__(self, source: str, polled: Polled, polling: Polling) -> None:
        self._polled, self._polling = polled, polling
        self._line = Line(
            polled.dialect, polling.patience, reads=f"the table `{polled.table}`", source=source
        )
        self._marks = Marks(polling.delay)
        self._due = 0.0
        self._target: tuple[str | None] | None = None
        """The mark of a run that takes what is there now."""

    def initial(self) -> Offset:
        if self._polling.start != "latest":
            return self._polling.first
        return {"after": self._line.patiently(self._polled.highest)}

    def available(self) -> None:
        highest = self._line.patiently(self._polled.highest)
        time.sleep(self._polling.delay)  # what is being written below the mark becomes visible
        self._target = (highest,)

    def latest(self, start: Offset) -> Offset:
        if self._target is not None:
            [mark] = self._target
            return self._line.patiently(lambda database: self._until(database, start, mark))
        now = time.monotonic()
        if now < self._due:
            return start
        self._due = now + self._polling.every
        return self._line.unless_lost(now, start, lambda database: self._settled(database, start))

    def pieces(self, start: Offset, end: Offset) -> list[bytes]:
        pieces = self._polled.pieces(start, end["after"], self._polling.tasks)
        return [piece.content for piece in pieces]

    def commit(self, end: Offset) -> None:
        """The table forgets nothing."""

    def close(self) -> None:
        self._line.close()

    def _settled(self, database: Database, start: Offset) -> Offset:
        highest = self._polled.highest(database)
        # The age of a mark counts from when it was seen: connecting and asking may have taken longer than the delay.
        return self._until(database, start, self._marks.settled(time.monotonic(), highest))

    def _until(self, database: Database, start: Offset, mark: str | None) -> Offset:
        end = None if mark is None else self._polled.end(database, start, mark, self._polling.most)
        return start if end is None else {"after": end}
