"""A connection to SQLite or PostgreSQL, shared by the threads of the service."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.errors import OptionError, without_passwords

_POSTGRES = ("postgresql://", "postgres://")


class Database:
    """Runs statements with `?` placeholders, one at a time."""

    def __init__(self, url: str) -> None:
        """Connect; `url` is the path of a SQLite file or a PostgreSQL URL.

        Raises:
            OptionError: the database cannot be opened.
        """
        self._url = url
        self._postgres = url.startswith(_POSTGRES)
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = self._connect()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of rows it changed."""
        with self._lock:
            return int(self._run(statement, values).rowcount)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        with self._lock:
            cursor = self._run(query, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the statements of the block together; a nested block joins the outer one."""
        with self._lock:
            if self._depth == 0:
                self._run("BEGIN" if self._postgres else "BEGIN IMMEDIATE", ())
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._run("ROLLBACK", ())
                raise
            self._depth -= 1
            if self._depth == 0:
                self._run("COMMIT", ())

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _run(self, statement: str, values: Sequence[Any]) -> Any:
        if not self._postgres:
            return self._connection.execute(statement, tuple(values))
        if self._connection.closed and self._depth == 0:
            self._connection = self._connect()
        try:
            return self._connection.execute(statement.replace("?", "%s"), tuple(values))
        except Exception:
            repeatable = statement.startswith(("SELECT", "BEGIN"))
            if not (self._connection.closed and self._depth == 0 and repeatable):
                raise
        self._connection = self._connect()  # the server was restarted since the last statement
        return self._connection.execute(statement.replace("?", "%s"), tuple(values))

    def _connect(self) -> Any:
        try:
            return self._connect_postgres() if self._postgres else self._connect_sqlite()
        except Exception as error:
            what = f"cannot open the store: {without_passwords(str(error))}"
            raise OptionError(what, where=without_passwords(self._url), hint="see --store") from None

    def _connect_postgres(self) -> Any:
        import psycopg

        return psycopg.connect(self._url, autocommit=True)

    def _connect_sqlite(self) -> sqlite3.Connection:
        Path(self._url).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._url, check_same_thread=False, isolation_level=None, timeout=30)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection
