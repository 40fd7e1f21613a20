"""Lists the rows of a small SQLite table again and again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from headrace.connectors.sqlite.tables import quoted
from headrace.errors import SourceError


class SQLiteListing:
    """A table of a SQLite file, opened anew each time: the file may be replaced."""

    def __init__(self, path: str, table: str) -> None:
        self._path = Path(path)
        self._table = table

    def rows(self) -> list[dict[str, str | None]]:
        if not self._path.exists():
            raise SourceError(f"there is no database {self._path}", where="sqlite")
        try:
            uri = f"file:{self._path.absolute()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as database:
                found = database.execute(f"SELECT * FROM {quoted(self._table)}")
                names = [column[0] for column in found.description]
                return [dict(zip(names, map(_text, row), strict=True)) for row in found]
        except sqlite3.Error as error:
            raise SourceError(
                f"the table `{self._table}` can't be read: {error}", where=str(self._path)
            ) from error

    def close(self) -> None:
        """Nothing is held open."""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
