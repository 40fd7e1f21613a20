"""Servers that go away and come back, and what they said, brought from a task to the driver."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

from headrace.connectors.sql.dialect import Database, Readable
from headrace.errors import HeadraceError

_PAUSE = 0.25
_LONGEST_PAUSE = 5.0
_SAID = "the server said: "
_Result = TypeVar("_Result")


def patiently(
    dialect: Readable, patience: float, act: Callable[[], _Result], again: Callable[[], None] = lambda: None
) -> _Result:
    """Do something that may be done again, and do it again while the server is away.

    Args:
        dialect: knows which errors mean that it is away.
        patience: how many seconds it is waited for.
        act: what to do.
        again: what to do before another attempt, such as forgetting a connection.
    """
    deadline = time.monotonic() + patience
    pause = _PAUSE
    while True:
        try:
            return act()
        except Exception as error:
            again()
            if not dialect.lost(error) or time.monotonic() + pause > deadline:
                raise
        time.sleep(pause * random.uniform(0.5, 1.0))
        pause = min(2 * pause, _LONGEST_PAUSE)


@contextmanager
def connected(dialect: Readable, patience: float) -> Iterator[Database]:
    """A connection of one's own, for the block; the server is waited for."""
    with closing(patiently(dialect, patience, dialect.connect)) as database:
        yield database


class Line:
    """The connection of somebody who looks again and again: made when it is needed, and anew when the server was away.

    Args:
        dialect: how to connect, and what the server's errors mean.
        patience: how many seconds a server that is away is waited for.
        reads: what is read, for errors: "the table `orders`".
        source: the step that reads it.
    """

    def __init__(self, dialect: Readable, patience: float, *, reads: str, source: str) -> None:
        self._dialect, self._patience = dialect, patience
        self._reads, self._source = reads, source
        self._database: Database | None = None
        self._lost_at: float | None = None

    def patiently(self, act: Callable[[Database], _Result]) -> _Result:
        """Do something that may be done again, waiting for the server."""
        return self.guarded(
            lambda: patiently(self._dialect, self._patience, lambda: act(self._connected()), self.close)
        )

    def unless_lost(self, now: float, otherwise: _Result, act: Callable[[Database], _Result]) -> _Result:
        """Look once, without waiting: a server that is away has nothing new, for as long as it is waited for."""
        try:
            found = act(self._connected())
        except Exception as error:
            self.close()
            lost_at = self._lost_at = now if self._lost_at is None else self._lost_at
            if self._dialect.lost(error) and now - lost_at < self._patience:
                return otherwise
            raise self._told(error) from error
        self._lost_at = None
        return found

    def guarded(self, act: Callable[[], _Result]) -> _Result:
        """What goes wrong is told as an error of the source."""
        try:
            return act()
        except Exception as error:
            raise self._told(error) from error

    def close(self) -> None:
        """Hang up; what is asked next connects again."""
        if self._database is not None:
            self._database.close()
        self._database = None

    def _connected(self) -> Database:
        if self._database is None:
            self._database = self._dialect.connect()
        return self._database

    def _told(self, error: Exception) -> Exception:
        if isinstance(error, HeadraceError):
            return telling(error.what, error.hint, where=self._source)
        told = self._dialect.told(error)
        if told is None:
            return error
        what = f"{self._reads} at {self._dialect.place} can't be read: {told[0]}"
        return telling(what, told[1], where=self._source)


@contextmanager
def told_by_task(dialect: Readable, where: str = "") -> Iterator[None]:
    """What a server says, as an error whose text survives the stack traces that Spark wraps it in."""
    try:
        yield
    except Exception as error:
        told = dialect.told(error)
        if told is None:
            raise
        raise telling(*told, where=where) from error


def telling(what: str, hint: str, *, where: str = "") -> RuntimeError:
    """An error that `from_task` and `said_by_task` read again."""
    return RuntimeError(f"{_SAID}{json.dumps([what, hint, where])}")


def from_task(text: str) -> tuple[str, str]:
    """What a task said of its server, and the hint, out of Spark's text.

    >>> from_task(f"Job aborted. RuntimeError: {telling('disk full', 'free some space')} at ...")
    ('disk full', 'free some space')
    """
    said = said_by_task(text)
    return (text.strip().splitlines()[0], "") if said is None else said[:2]


def said_by_task(text: str) -> tuple[str, str, str] | None:
    """What a task said, the hint, and of which step; None if no task said anything."""
    if _SAID not in text:
        return None
    what, hint, where = json.JSONDecoder().raw_decode(text, text.index(_SAID) + len(_SAID))[0]
    return what, hint, where
