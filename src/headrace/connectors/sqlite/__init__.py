"""A table in a SQLite database file.

*Sink*: exactly once. An epoch is one transaction: the rows, the ledger row and the check of the fencing
token. *Table*: for lookups, read once when the run starts. *Source*: replayable; new rows of an append-only
table are read by a cursor column.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, field_validator

from headrace.connectors.base import Connector, Writer
from headrace.connectors.options import DurationOption, PathOption
from headrace.connectors.roles import SourceOption
from headrace.connectors.sql.options import DatabaseTable

if TYPE_CHECKING:
    from headrace.connectors.sqlite.dialect import SQLiteDialect


class DatabaseFile(Connector):
    """The path of a database file; a separate base class, so that this option is listed first."""

    path: PathOption = Field(description="The database file; a sink creates it")


class SQLite(DatabaseTable, DatabaseFile):
    """A table of a database file; a sink creates it, or checks an existing one.

    With a `key` there is one row per key: a newer row overwrites it, a retraction deletes it; `window` in the
    key stands for the window's columns. Without one every row is appended, including retractions (marked by
    `pane_retraction`). Columns are plain: `window_start`, `window_end`, `pane_index`, `pane_timing`; times
    are ISO text in UTC, which sorts; arrays, maps and other structs are JSON text. All rows of an epoch pass
    through the driver's memory.

    As a source it reads new rows by a cursor column, `cursor="id"`; `rowid` works if no row is ever deleted.
    It does not see updates and deletes.

    >>> SQLite(path="fraud.db", table="totals", key=["card", "window"]).key
    ('card', 'window')
    """

    kind: ClassVar[str] = "sqlite"

    delay: SourceOption[DurationOption] = Field(
        default="0 seconds",
        description="As for other databases; SQLite has one writer at a time, so none is needed",
    )

    @field_validator("table")
    @classmethod
    def _check_reserved(cls, table: str) -> str:
        if table.lower().startswith(("sqlite_", "_headrace")):
            raise ValueError("names that start with `sqlite_` or `_headrace` are reserved")
        return table

    def target(self) -> str | None:
        return f"the table `{self.table}` in {Path(str(self.path)).absolute()}"

    def dialect(self, *, writes: bool = False) -> SQLiteDialect:
        from headrace.connectors.sqlite.dialect import SQLiteDialect

        return SQLiteDialect(str(Path(str(self.path)).absolute()), writes)

    def writer(self) -> Writer:
        from headrace.connectors.sql.writer import TableWriter
        from headrace.connectors.sqlite.staging import DriverStaging

        dialect = self.dialect(writes=True)
        return TableWriter(dialect, self.table, self.key, DriverStaging(dialect))
