"""Finds out, on the driver, how far a table has grown."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from headrace.connectors.database.dialect import Database
from headrace.connectors.database.patience import patiently, telling
from headrace.connectors.database.polling import Marks, Offset, Polled, Polling

_Result = TypeVar("_Result")


class Poller:
    """A follower of one table."""

    def __init__(self, source: str, polled: Polled, polling: Polling) -> None:
        self._source, self._polled, self._polling = source, polled, polling
        self._marks = Marks(polling.delay)
        self._database: Database | None = None
        self._due = 0.0
        self._lost_at: float | None = None
        self._target: tuple[str | None] | None = None
        """The mark of a run that takes what is there now."""

    def initial(self) -> Offset:
        if self._polling.start != "latest":
            return self._polling.first
        return {"after": self._patiently(self._polled.highest)}

    def available(self) -> None:
        highest = self._patiently(self._polled.highest)
        time.sleep(self._polling.delay)  # what is being written below the mark becomes visible
        self._target = (highest,)

    def latest(self, start: Offset) -> Offset:
        if self._target is not None:
            [mark] = self._target
            return self._patiently(lambda database: self._until(database, start, mark))
        now = time.monotonic()
        if now < self._due:
            return start
        self._due = now + self._polling.every
        return self._unless_lost(now, start)

    def pieces(self, start: Offset, end: Offset) -> list[bytes]:
        pieces = self._polled.pieces(start, end["after"], self._polling.tasks)
        return [piece.content for piece in pieces]

    def commit(self, end: Offset) -> None:
        """The table forgets nothing."""

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None

    def _unless_lost(self, now: float, start: Offset) -> Offset:
        """Look for new rows; a server that is away has none, for as long as it is waited for."""
        try:
            database = self._connected()
            mark = self._marks.settled(now, self._polled.highest(database))
            end = self._until(database, start, mark)
        except Exception as error:
            self.close()
            lost_at = self._lost_at = now if self._lost_at is None else self._lost_at
            if self._polled.dialect.lost(error) and now - lost_at < self._polling.patience:
                return start
            raise self._told(error) from error
        self._lost_at = None
        return end

    def _until(self, database: Database, start: Offset, mark: str | None) -> Offset:
        end = None if mark is None else self._polled.end(database, start, mark, self._polling.most)
        return start if end is None else {"after": end}

    def _patiently(self, act: Callable[[Database], _Result]) -> _Result:
        dialect, patience = self._polled.dialect, self._polling.patience
        try:
            return patiently(dialect, patience, lambda: act(self._connected()), self.close)
        except Exception as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> Exception:
        told = self._polled.dialect.told(error)
        if told is None:
            return error
        what = f"the table `{self._polled.table}` at {self._polled.dialect.place} can't be read: {told[0]}"
        return telling(what, told[1], where=self._source)

    def _connected(self) -> Database:
        if self._database is None:
            self._database = self._polled.dialect.connect()
        return self._database
