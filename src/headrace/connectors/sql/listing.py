"""Lists the rows of a small table again and again over one connection."""

from __future__ import annotations

import contextlib

from headrace.connectors.sql.dialect import Database, Dialect, qualified
from headrace.errors import SourceError


class TableListing:
    """A table of a database server. A connection that is lost is made again, once for each time rows are asked for."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        self._dialect = dialect
        self._table = table
        self._database: Database | None = None

    def rows(self) -> list[dict[str, str | None]]:
        try:
            return self._again()
        except SourceError:
            raise
        except Exception as error:
            self.close()
            told = self._dialect.told(error)
            if told is None:
                raise
            what = f"the table `{self._table}` can't be read: {told[0]}"
            raise SourceError(what, where=self._dialect.place, hint=told[1]) from error

    def close(self) -> None:
        """Close the connection, if there is one; what it says against that doesn't matter."""
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(Exception):
                database.close()

    def _again(self) -> list[dict[str, str | None]]:
        if self._database is not None:
            try:
                return self._read(self._database)
            except Exception as error:
                if not self._dialect.lost(error):
                    raise
                self.close()
        self._database = self._dialect.connect()
        return self._read(self._database)

    def _read(self, database: Database) -> list[dict[str, str | None]]:
        there = self._dialect.columns(database, self._table)
        if not there:
            raise SourceError(
                f"there is no table `{self._table}`",
                where=self._dialect.place,
                hint="name one that is there, with its schema if it isn't in the user's own",
            )
        binary = {
            name for name, (declared, _) in there.items() if self._dialect.spark_type(declared) == "binary"
        }
        texts = ", ".join(self._dialect.as_text(name, name in binary) for name in there)
        found = database.rows(f"SELECT {texts} FROM {qualified(self._dialect, self._table)}")
        return [dict(zip(there, row, strict=True)) for row in found]
