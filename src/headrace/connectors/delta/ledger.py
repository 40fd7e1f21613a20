"""The ledger of a Delta sink: application transactions of the table (`txn` actions).

    headrace/<pipeline>/<sink>                    version: the fencing token
    headrace/<pipeline>/<sink>/<checkpoint id>    version: the epoch last committed

A run takes over by a commit with a raised token. The commit of an epoch repeats the token: the first of two
transactions with this id that were based on the same version of the table succeeds, and delta-rs rejects the
other one. So the token is checked, and rows and epoch become visible, in one atomic commit. Commits of other
writers do not conflict with it.

A path without a table holds no token until the first epoch creates the table. Two runs that open such a sink
have different tokens, because the first token is the time; the run that creates the table locks out the
other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import WriteContext
from headrace.connectors.delta.location import Location, Session
from headrace.connectors.failpoints import reach
from headrace.connectors.ledger import LedgerEntry
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

Write = Callable[["DeltaTable", "CommitProperties"], None]
"""Commits something to a version of the table, with the properties of the ledger."""


class TransactionLedger:
    """Stores the entries of one sink in its table."""

    def __init__(self, location: Location, context: WriteContext) -> None:
        self._location, self._context = location, context
        self._id = f"headrace/{context.pipeline}/{context.sink}"
        self._session = Session(location)
        self._unstored = LedgerEntry(token=time.time_ns() // 1000)
        self.table: DeltaTable | None = None
        """The version of the table that `read` returned the entry of; None if there is no table."""
        self.write: Write = commit_files([])
        """Commits the rows of the next epoch."""

    def read(self) -> LedgerEntry:
        if self.table is None and not self._location.has_table():
            return self._unstored
        table = self.table = self._session.newest()
        epoch = self.last_epoch(self._context.checkpoint_id)
        epochs = {self._context.checkpoint_id: epoch} if epoch >= 0 else {}
        return LedgerEntry(table.version(), table.transaction_version(self._id) or 0, epochs)

    def take_over(self, entry: LedgerEntry) -> bool:
        if self.table is None:
            self._unstored = entry
        else:
            commit_files([])(self.table, self._properties(entry))
        return True

    def commit(self, entry: LedgerEntry) -> bool:
        from deltalake.exceptions import CommitFailedError

        if self.table is None:
            raise DeliveryError("the table was removed while this run was writing to it")
        reach("delta.read")
        try:
            self.write(self.table, self._properties(entry))
        except CommitFailedError:
            if self.read().token != entry.token:
                return False
            raise
        return True

    def create(self, schema: Any, partition_by: list[str], token: int) -> None:
        """Create the table with a fencing token; do nothing if another run was faster."""
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import create_table_with_add_actions

        self._location.create_directory()
        try:
            create_table_with_add_actions(
                self._location.uri,
                schema,
                [],
                partition_by=partition_by,
                storage_options=dict(self._location.settings),
                commit_properties=self._properties(LedgerEntry(token=token)),
            )
        except DeltaError:
            if not self._location.has_table():
                raise

    def last_epoch(self, checkpoint_id: str) -> int:
        """Return the epoch last committed under a checkpoint id, or -1."""
        if self.table is None:
            return -1
        version = self.table.transaction_version(f"{self._id}/{checkpoint_id}")
        return -1 if version is None else version

    def _properties(self, entry: LedgerEntry) -> CommitProperties:
        from deltalake import CommitProperties, Transaction

        epochs = entry.epochs.items()
        transactions = [Transaction(f"{self._id}/{checkpoint}", epoch) for checkpoint, epoch in epochs]
        return CommitProperties(app_transactions=[Transaction(self._id, entry.token), *transactions])


def commit_files(files: list[Any], mode: str = "append") -> Write:
    """Return the commit that adds files to a table or, with mode `overwrite`, replaces its files."""

    def write(table: DeltaTable, properties: CommitProperties) -> None:
        columns = table.metadata().partition_columns
        table.create_write_transaction(
            files, mode, table.schema(), partition_by=columns, commit_properties=properties
        )

    return write
