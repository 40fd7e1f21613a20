"""Lists the rows of a small table repeatedly."""

from __future__ import annotations

from headrace.connectors.retry import LazySession, retry
from headrace.connectors.sql.columns import existing_columns, source_errors
from headrace.connectors.sql.dialect import Dialect, Session

_RETRY_SECONDS = 0.5


class TableListing:
    """The rows of a table, read over one connection; reconnects after the connection was lost."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        self._dialect, self._table = dialect, table
        self._session: LazySession[Session] = LazySession(dialect)

    def rows(self) -> list[dict[str, str | None]]:
        with source_errors(self._dialect, f"the table `{self._table}`", where=""):
            return retry(self._dialect, _RETRY_SECONDS, lambda: self._read(self._session.get()), self.close)

    def close(self) -> None:
        self._session.close()

    def _read(self, session: Session) -> list[dict[str, str | None]]:
        columns = existing_columns(self._dialect, session, self._table, where="")
        texts = ", ".join(self._dialect.as_text(name, declared) for name, declared in columns.items())
        rows = session.rows(f"SELECT {texts} FROM {self._dialect.quote_table(self._table)}")
        return [dict(zip(columns, row, strict=True)) for row in rows]
