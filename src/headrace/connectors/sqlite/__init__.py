"""A table in a SQLite database file.

*Sink*: exactly once. An epoch is one transaction: the rows, the ledger row and the check that no newer run has taken
over. *Table*: for lookups, read once when the run starts. *Source*: replayable; a table that only grows is followed by a
column that grows with every row.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from headrace.connectors.base import Connector, Listing, Reader, Writer
from headrace.connectors.options import DurationOption, PathOption
from headrace.connectors.roles import SourceOption
from headrace.connectors.sql.options import DatabaseTable


class DatabaseFile(Connector):
    """Where a database is; a base beside that of tables, so that documents say it first."""

    path: PathOption = Field(description="The database file; a sink makes it if there is none")


class SQLite(DatabaseTable, DatabaseFile):
    """A table of a database file; it is made if there is none, and checked against the stream if there is.

    With a `key` there is one row for each key: a newer row overwrites it, a retraction deletes it; `window` in the key
    stands for the window's columns. Without one every row is appended, retractions too (`pane_retraction` tells them).
    Columns are plain: `window_start`, `window_end`, `pane_index`, `pane_timing`; times are ISO text in UTC, which sorts;
    arrays, maps and other structs are JSON text. All rows of an epoch pass through the driver's memory.

    As a source it is followed by a column that grows, `cursor="id"`; `rowid` will do where no row is ever deleted. Updates
    and deletes aren't seen.

    >>> SQLite(path="fraud.db", table="totals", key=["card", "window"]).key
    ('card', 'window')
    """

    kind: ClassVar[str] = "sqlite"

    delay: SourceOption[DurationOption] = Field(
        default="0 seconds",
        description="Of a source: as of the servers' tables; SQLite has one writer at a time, so none is needed",
    )

    @field_validator("table")
    @classmethod
    def _not_reserved(cls, table: str) -> str:
        if table.lower().startswith(("sqlite_", "_headrace")):
            raise ValueError("names that start with `sqlite_` or `_headrace` are taken")
        return table

    def target(self) -> str | None:
        return f"the table `{self.table}` in {Path(str(self.path)).absolute()}"

    def reader(self) -> Reader:
        from headrace.connectors.sqlite.source import SQLiteReader

        return SQLiteReader(self)

    def listing(self) -> Listing:
        from headrace.connectors.sqlite.listing import SQLiteListing

        return SQLiteListing(str(self.path), self.table)

    def writer(self) -> Writer:
        from headrace.connectors.sqlite.sink import SQLiteWriter

        return SQLiteWriter(self)
