"""The ledger of a SQL sink: two tables beside the target, written in the transaction of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.connectors.base import WriteContext
from headrace.connectors.ledger import LedgerEntry
from headrace.connectors.sql.dialect import FENCING, LEDGER, Dialect, Session
from headrace.connectors.sql.target import create_once

_SINK = "pipeline = %s AND sink = %s"


@dataclass(frozen=True)
class LedgerTables:
    """Stores fencing token and epochs of one sink. All methods are called inside a transaction.

    Args:
        dialect: the database.
        context: the sink and the checkpoint id; only its epochs are read.
        session: returns the session of the transaction.
    """

    dialect: Dialect
    context: WriteContext
    session: Callable[[], Session]

    def create(self) -> None:
        """Create the tables, if they do not exist."""
        for statement in self.dialect.create_ledger():
            create_once(self.dialect, self.session(), statement)

    def read(self) -> LedgerEntry:
        # The lock keeps a newer run from taking over before this transaction ends.
        query = f"SELECT token FROM {FENCING} WHERE {_SINK}{self.dialect.lock_rows}"
        tokens = self.session().rows(query, self._sink)
        query = f"SELECT epoch FROM {LEDGER} WHERE {_SINK} AND checkpoint_id = %s"
        epochs = self.session().rows(query, self._checkpoint)
        token = int(tokens[0][0]) if tokens else 0
        committed = {self.context.checkpoint_id: int(epochs[0][0])} if epochs else {}
        return LedgerEntry(token=token, epochs=committed)

    def take_over(self, entry: LedgerEntry) -> bool:
        update = f"UPDATE {FENCING} SET token = %s WHERE {_SINK}"
        if not self.session().execute(update, (entry.token, *self._sink)):
            insert = f"INSERT INTO {FENCING} (pipeline, sink, token) VALUES (%s, %s, %s)"
            self.session().execute(insert, (*self._sink, entry.token))
        return True

    def commit(self, entry: LedgerEntry) -> bool:
        session, epoch = self.session(), entry.epochs[self.context.checkpoint_id]
        session.execute(f"DELETE FROM {LEDGER} WHERE {_SINK} AND checkpoint_id = %s", self._checkpoint)
        session.execute(
            f"INSERT INTO {LEDGER} (pipeline, sink, checkpoint_id, epoch, token) VALUES (%s, %s, %s, %s, %s)",
            (*self._checkpoint, epoch, entry.token),
        )
        return True

    @property
    def _sink(self) -> tuple[str, str]:
        return self.context.pipeline, self.context.sink

    @property
    def _checkpoint(self) -> tuple[str, str, str]:
        return (*self._sink, self.context.checkpoint_id)
