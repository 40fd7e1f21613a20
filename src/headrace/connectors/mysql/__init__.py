"""A table in a MySQL or MariaDB database.

*Sink*: exactly once. Tasks load their rows with LOAD DATA into a staging table; one transaction writes them
to the target together with the ledger row, fenced against older runs. *Table*: for lookups, read once when
the run starts. *Source*: replayable; new rows of an append-only table are read by a cursor column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.connectors.sql.options import ServerTable

if TYPE_CHECKING:
    from headrace.connectors.mysql.dialect import MySQLDialect


class MySQL(ServerTable):
    """A table of a MySQL or MariaDB database; a sink creates it, or checks an existing one.

    With a `key` there is one row per key: a newer row overwrites it, a retraction deletes it; `window` in the
    key stands for the window's columns. Without one every row is appended, including retractions (marked by
    `pane_retraction`). Columns are plain: `window_start`, `window_end`, `pane_index`, `pane_timing`;
    timestamps are `datetime(6)` in UTC; arrays, maps and other structs are JSON text; text in a key has at
    most 255 characters. The target must be InnoDB, and the server must allow `local_infile` (MariaDB does,
    MySQL needs `SET GLOBAL local_infile = 1`). Needs the extra `mysql`.

    As a source it reads new rows by a cursor column, `cursor="id"`. It does not see updates, deletes, or rows
    that become visible more than `delay` after others with higher values.

    >>> MySQL(url="mysql://ada:secret@db/shop", table="totals", key=["card", "window"]).key
    ('card', 'window')
    """

    kind: ClassVar[str] = "mysql"
    schemes: ClassVar[tuple[str, ...]] = ("mysql", "mariadb")

    def dialect(self, *, writes: bool = False) -> MySQLDialect:
        from headrace.connectors.mysql.dialect import MySQLDialect

        return MySQLDialect(self.url, writes)
