"""Lists the rows of a small table repeatedly."""

from __future__ import annotations

import contextlib

from headrace.connectors.retry import retry
from headrace.connectors.sql.columns import existing_columns, source_errors
from headrace.connectors.sql.dialect import Dialect, Session

_RETRY_SECONDS = 0.5


class TableListing:
    """The rows of a table, read over one connection, which is opened again after it was lost."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        self._dialect, self._table = dialect, table
        self._session: Session | None = None

    def rows(self) -> list[dict[str, str | None]]:
        with source_errors(self._dialect, f"the table `{self._table}`", where=""):
            return retry(self._dialect, _RETRY_SECONDS, lambda: self._read(self._connect()), self.close)

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(Exception):  # the connection may be lost
                session.close()

    def _connect(self) -> Session:
        if self._session is None:
            self._session = self._dialect.connect()
        return self._session

    def _read(self, session: Session) -> list[dict[str, str | None]]:
        columns = existing_columns(self._dialect, session, self._table, where="")
        texts = ", ".join(self._dialect.as_text(name, declared) for name, declared in columns.items())
        rows = session.rows(f"SELECT {texts} FROM {self._dialect.quote_table(self._table)}")
        return [dict(zip(columns, row, strict=True)) for row in rows]
