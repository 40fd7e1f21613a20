"""How the staged rows of an epoch come into the table, inside the transaction that commits them.

This way takes any rows. Those whose keys are new are added faster, and earlier (`ahead.py`): most streams bring new keys epoch
after epoch (events, windows that fire once) or old ones (running totals), so that is tried where it worked the last time.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.sql.dialect import Database, Dialect, append, some_null
from headrace.connectors.sql.tables import Table

_LONGEST_PAUSE = 64


@dataclass(frozen=True)
class Contents:
    """How many rows are staged, and how many of them have a null in their key."""

    rows: int
    null_keys: int

    @classmethod
    def of(cls, dialect: Dialect, database: Database, table: Table, staged: str) -> Contents:
        """Count the rows of a query."""
        nulls = some_null(dialect, table.key) or "false"
        counted = ", ".join(f"count(CASE WHEN {this} THEN 1 END)" for this in ("true", nulls))
        return cls(*map(int, database.rows(f"SELECT {counted} FROM ({staged}) s")[0]))


@dataclass
class Novelty:
    """Whether the keys of the next epoch are likely to be new: a wrong guess costs the server what it has added by then.

    After each guess in a row that was wrong twice as many epochs pass before the next one.

    >>> novelty = Novelty()
    >>> novelty.likely()
    True
    >>> novelty.seen(new=False)
    >>> [novelty.likely() for _ in range(3)]
    [False, False, True]
    """

    _pause: int = 1
    _passed_over: int = 0

    def likely(self) -> bool:
        """Ask once for each epoch."""
        self._passed_over = max(self._passed_over - 1, -1)
        return self._passed_over < 0

    def seen(self, *, new: bool) -> None:
        """What came of an attempt."""
        self._pause = 1 if new else min(2 * self._pause, _LONGEST_PAUSE)
        self._passed_over = 0 if new else self._pause


def take(dialect: Dialect, database: Database, table: Table, staged: str, contents: Contents) -> None:
    """Bring the rows of a query into a table, whatever they are."""
    if not table.key:
        database.execute(append(dialect, table, staged))
        return
    for statement in dialect.fold(table, staged, null_keys=contents.null_keys > 0):
        database.execute(statement)
