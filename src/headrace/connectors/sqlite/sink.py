"""Writes epochs to a SQLite table, exactly once.

    stage     the rows are brought to the driver
    commit    one transaction: no newer run? epoch not there yet? then the rows and the ledger row
    open      one transaction: the number of this run, one more than the last

A crash anywhere leaves the transaction out, and the epoch comes again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten as flat
from headrace.connectors.base import Staged, WriteContext
from headrace.connectors.failpoints import reach
from headrace.connectors.sql.tables import RETRACTION, applied
from headrace.connectors.sqlite.tables import SQLiteTable, declared, exact, quoted
from headrace.errors import DeliveryError, FencedError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from headrace.connectors.sqlite import SQLite

_CHUNK = 10_000
_LEDGER = (
    "CREATE TABLE IF NOT EXISTS _headrace_runs (pipeline TEXT, sink TEXT, run INTEGER, PRIMARY KEY (pipeline, sink))",
    "CREATE TABLE IF NOT EXISTS _headrace_ledger (pipeline TEXT, sink TEXT, lineage TEXT, epoch INTEGER, run INTEGER,"
    " committed_at TEXT, PRIMARY KEY (pipeline, sink, lineage))",
)
_HINTS = {
    "readonly": "make the file and its directory writable for this user",
    "full": "free some space; the epoch is written again when the run is started again",
    "locked": "another process holds a write transaction for long; end it",
    "unable to open": "does its directory exist, and may this user write there?",
    "not a database": "give the path of a SQLite database, or of a file that does not exist yet",
}


@dataclass(frozen=True)
class Collected:
    """An epoch's rows on the driver, in plain columns."""

    table: SQLiteTable
    content: pyarrow.Table

    @property
    def rows(self) -> int:
        return int(self.content.num_rows)


class SQLiteWriter:
    """Delivers the epochs of one sink to a table."""

    def __init__(self, options: SQLite) -> None:
        self._options = options
        self._run: WriteContext | None = None
        self._number = 0
        self._database: sqlite3.Connection | None = None

    def open(self, run: WriteContext) -> int:
        self._run = run
        if reason := self._options.mode_problem(run.mode):
            raise DeliveryError(
                reason, where=run.sink, hint="add key=[...], or write with mode append or complete"
            )
        owner = (run.pipeline, run.sink)
        with self._transaction("can't be opened") as database:
            for statement in _LEDGER:
                database.execute(statement)
            self._number = 1 + _first(
                database, "SELECT run FROM _headrace_runs WHERE (pipeline, sink) = (?, ?)", owner, 0
            )
            database.execute("INSERT OR REPLACE INTO _headrace_runs VALUES (?, ?, ?)", (*owner, self._number))
            epoch = self._committed(database)
        reach("sqlite.fenced")
        return epoch

    def stage(self, epoch: int, frame: DataFrame) -> Collected:
        frame = applied(frame, self._options.key)
        schema = frame.schema.jsonValue()
        table = SQLiteTable.of(
            self._options.table, schema, self._options.key, declared, where=self._running.sink
        )
        content = frame.selectExpr(*flat.expressions(schema, text=True)).toArrow()
        reach("sqlite.staged")
        return Collected(table, content)

    def commit(self, epoch: int, staged: Staged) -> None:
        if not isinstance(staged, Collected):
            raise TypeError("commit takes what stage gave")
        with self._transaction(f"can't take epoch {epoch}") as database:
            self._check_owner(database, epoch)
            if epoch <= self._committed(database):
                return
            reach("sqlite.begun")
            staged.table.ensure(database, where=self._running.sink)
            if self._running.mode == "complete":
                database.execute(f"DELETE FROM {quoted(staged.table.name)}")
            _write(database, staged, self._running.sink)
            reach("sqlite.rows")
            self._enter(database, epoch)
            reach("sqlite.ledger")
        reach("sqlite.committed")

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = self._run = None

    def _check_owner(self, database: sqlite3.Connection, epoch: int) -> None:
        owner = (self._running.pipeline, self._running.sink)
        newest = _first(database, "SELECT run FROM _headrace_runs WHERE (pipeline, sink) = (?, ?)", owner, 0)
        if newest != self._number:
            raise FencedError(
                f"epoch {epoch} is not written: a newer run has taken over {self._options.path}",
                where=self._running.sink,
                hint="two runs of one pipeline write here; stop one of them",
            )

    def _committed(self, database: sqlite3.Connection) -> int:
        query = "SELECT epoch FROM _headrace_ledger WHERE (pipeline, sink, lineage) = (?, ?, ?)"
        return _first(
            database, query, (self._running.pipeline, self._running.sink, self._running.checkpoint_id), -1
        )

    def _enter(self, database: sqlite3.Connection, epoch: int) -> None:
        run = self._running
        row = (run.pipeline, run.sink, run.checkpoint_id, epoch, self._number)
        database.execute(
            "INSERT OR REPLACE INTO _headrace_ledger VALUES (?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))",
            row,
        )

    @contextmanager
    def _transaction(self, what: str) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start; what goes wrong undoes it and is told as ours."""
        try:
            database = self._connected()
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            hint = next((hint for word, hint in _HINTS.items() if word in str(error)), "")
            text = f"the database {self._options.path} {what}: {error}"
            raise DeliveryError(text, where=self._running.sink, hint=hint) from error

    def _connected(self) -> sqlite3.Connection:
        if self._database is None:
            path = Path(str(self._options.path))
            path.parent.mkdir(parents=True, exist_ok=True)
            # Epochs come on whatever thread Spark calls back; one at a time.
            self._database = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        return self._database

    @property
    def _running(self) -> WriteContext:
        if self._run is None:
            raise DeliveryError("the sink is not open", where="sqlite")
        return self._run


def _write(database: sqlite3.Connection, staged: Collected, where: str) -> None:
    table = staged.table
    for batch in staged.content.select([c.name for c in table.columns] + _retraction(staged)).to_batches(
        _CHUNK
    ):
        rows = list(zip(*_values(table, batch, where), strict=True))
        if table.key:
            _apply(database, table, rows, retractions=bool(_retraction(staged)))
        else:
            database.executemany(table.insert, rows)


def _values(table: SQLiteTable, batch: pyarrow.RecordBatch, where: str) -> Iterator[list[Any]]:
    kinds = {column.name: column.kind for column in table.columns}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        values = column.to_pylist()
        wide = kinds.get(name, "").startswith("decimal")
        yield [exact(value, name, where=where) for value in values] if wide else values


def _apply(
    database: sqlite3.Connection, table: SQLiteTable, rows: list[tuple[Any, ...]], *, retractions: bool
) -> None:
    """Overwrite and delete by key, in the order the rows came: a retraction stands just before what replaces it."""
    width = len(table.columns)
    places = [[column.name for column in table.columns].index(name) for name in table.key]
    for retracted, group in groupby(rows, lambda row: retractions and bool(row[width])):
        newest = {tuple(row[place] for place in places): row[:width] for row in group}
        database.executemany(table.delete, list(newest))
        if not retracted:
            database.executemany(table.insert, list(newest.values()))


def _retraction(staged: Collected) -> list[str]:
    """The column that tells retractions, where it isn't one of the table's own."""
    return [RETRACTION] if staged.table.key and RETRACTION in staged.content.column_names else []


def _first(database: sqlite3.Connection, query: str, values: Sequence[Any], default: int) -> int:
    row = database.execute(query, values).fetchone()
    return default if row is None else int(row[0])
