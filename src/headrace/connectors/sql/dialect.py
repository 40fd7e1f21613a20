"""The differences between databases. The rest of a source or sink is common to all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from headrace.connectors.sql.copy_text import TextForms
from headrace.connectors.sql.table import RETRACTION, Table

FENCING, LEDGER, STAGING = "_headrace_fencing", "_headrace_epochs", "_headrace_stage"
ATTEMPT, SEQUENCE = "_headrace_attempt", "_headrace_seq"
"""Additional columns of a staging table: the task attempt that loaded the row, and the row number."""


class Session(Protocol):
    """An open connection in autocommit mode."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of rows it changed."""
        ...

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        ...

    def load(self, stage: str, columns: Mapping[str, str], attempt: int, lines: Iterable[bytes]) -> None:
        """Load lines of text into a staging table in one transaction.

        Args:
            stage: the table.
            columns: the columns of a line after its number, with their Spark types.
            attempt: the id of the task attempt, stored with each row.
            lines: values separated by tabs, in the form of `copy_text`.
        """
        ...

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        ...


class Dialect(ABC):
    """Reads and writes tables of one database. Instances are sent to executors and hold no connection.

    Members with an implementation have the values that most servers share.
    """

    kind: ClassVar[str]
    failpoints: ClassVar[str] = "database"
    """The prefix of the sink's fail-points."""
    begin: ClassVar[tuple[str, ...]] = ("BEGIN",)
    """The statements that begin a transaction."""
    lock_rows: ClassVar[str] = " FOR UPDATE"
    """Suffix of a query that locks the rows it reads."""
    table_options: ClassVar[str] = ""
    """Suffix of a statement that creates a table."""
    ledger_name_type: ClassVar[str] = "text NOT NULL"
    """The column type of names in the ledger tables."""
    ledger_time_type: ClassVar[str]
    """The column type of the commit time in the ledger, with its default."""
    insert_first: ClassVar[bool] = False
    """True to try a plain INSERT before an upsert, where it is much cheaper."""
    hidden_columns: ClassVar[dict[str, str]] = {}
    """Columns that every table has although `columns` does not return them, with their declared types."""
    text_forms: ClassVar[TextForms] = TextForms()
    """The text that tasks load into staging tables."""
    short_lock_wait: ClassVar[tuple[str, str]] = ("", "")
    """The statements that make the session wait for locks for a second only, and as long as usual."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The address of the database, without the password."""

    @abstractmethod
    def connect(self) -> Session:
        """Open a session, in UTC and strict about values."""

    @abstractmethod
    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        """Return message and hint of an error of the database; None for any other error."""

    @abstractmethod
    def is_unavailable(self, error: Exception) -> bool:
        """True if the error is a lost connection or a server shutting down, so that a retry may succeed."""

    def is_duplicate_key(self, error: Exception) -> bool:
        """True if an insert failed because its key exists."""
        return False

    def is_locked(self, error: Exception) -> bool:
        """True if another session holds a lock that the statement waited for."""
        return False

    @abstractmethod
    def quote(self, name: str) -> str:
        """Quote an identifier."""

    def quote_table(self, table: str) -> str:
        """Quote a table name that may have a schema."""
        return ".".join(map(self.quote, table.split(".")))

    def quote_all(self, names: Iterable[str]) -> str:
        """Return a comma-separated list of quoted names."""
        return ", ".join(map(self.quote, names))

    @abstractmethod
    def tables(self, session: Session) -> list[str]:
        """Return the names of the tables in the current schema."""

    @abstractmethod
    def columns(self, session: Session, table: str) -> dict[str, tuple[str, bool]]:
        """Return the columns of a table: the declared type, and whether an insert must provide a value."""

    @abstractmethod
    def has_unique_key(self, session: Session, table: str, key: Sequence[str]) -> bool:
        """True if exactly these columns are unique, so that an upsert finds the row of a key."""

    @abstractmethod
    def spark_type(self, declared: str) -> str:
        """Return the Spark type for a declared type; `string` by default."""

    @abstractmethod
    def as_text(self, name: str, declared: str | None = None) -> str:
        """Return the SQL of a column as text, in hexadecimal for binary types."""

    def parameter(self, declared: str, text: str) -> Any:
        """Convert text from `as_text` to a parameter that an index on such a column can serve."""
        return text

    def key_condition(self, key: Mapping[str, str], keys: Sequence[Sequence[str]]) -> tuple[str, list[Any]]:
        """Return the condition that a row has one of several keys, and its parameters.

        Args:
            key: the key columns with their declared types.
            keys: the values of the key columns, as text.
        """
        values = [
            self.parameter(kind, text) for row in keys for kind, text in zip(key.values(), row, strict=True)
        ]
        row = f"({', '.join(['%s'] * len(key))})"
        names = self.quote_all(key).replace("%", "%%")
        return f"({names}) IN ({', '.join([row if len(key) > 1 else '%s'] * len(keys))})", values

    @abstractmethod
    def column_type(self, kind: str, in_key: bool) -> str:
        """Return the column type for a Spark type."""

    @abstractmethod
    def accepts(self, kind: str, declared: str) -> bool:
        """True if an existing column of this type can store values of a Spark type."""

    def create_ledger(self) -> Sequence[str]:
        """Return the statements that create the fencing and ledger tables, if they do not exist."""
        name, create, options = self.ledger_name_type, "CREATE TABLE IF NOT EXISTS", self.table_options
        return (
            f"{create} {FENCING} (pipeline {name}, sink {name}, token bigint NOT NULL,"
            f" PRIMARY KEY (pipeline, sink)){options}",
            f"{create} {LEDGER} (pipeline {name}, sink {name}, checkpoint_id {name}, epoch bigint NOT NULL,"
            f" token bigint NOT NULL, committed_at {self.ledger_time_type},"
            f" PRIMARY KEY (pipeline, sink, checkpoint_id)){options}",
        )

    def create_table(self, table: Table) -> str:
        """Return the statement that creates the target table."""
        parts = [f"{self.quote(column.name)} {column.declared}" for column in table.columns]
        if table.key:
            # Not PRIMARY KEY: that excludes null, which is a valid key.
            parts.append(f"UNIQUE ({self.quote_all(table.key)})")
        target = self.quote_table(table.name)
        return f"CREATE TABLE IF NOT EXISTS {target} ({', '.join(parts)}){self.table_options}"

    def create_stage(self, table: Table, stage: str) -> str:
        """Return the statement that creates a staging table with the column types of the target."""
        raise NotImplementedError

    @abstractmethod
    def upsert(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        """Return the statements that write the last row of each key to a table with a key.

        Args:
            table: the target.
            staged: the query for the staged rows.
            null_keys: true if a staged row has a null in its key.
        """

    def insert(self, table: Table, rows: str) -> str:
        """Return the statement that inserts the rows of a query."""
        names = self.quote_all(table.names)
        return f"INSERT INTO {self.quote_table(table.name)} ({names}) SELECT {names} FROM ({rows}) s"

    def insert_last(self, table: Table, staged: str) -> str:
        """Return the statement that inserts the last staged row of each key, unless it is a retraction."""
        insert = self.insert(table, self.last_rows(table, staged))
        return f"{insert} WHERE {RETRACTION} IS NOT TRUE" if table.retracts else insert

    def last_rows(self, table: Table, staged: str) -> str:
        """Return the query for the last staged row of each key."""
        key = self.quote_all(table.key)
        rank = f"row_number() OVER (PARTITION BY {key} ORDER BY {SEQUENCE} DESC) AS _headrace_rank"
        return f"SELECT * FROM (SELECT s.*, {rank} FROM ({staged}) s) r WHERE _headrace_rank = 1"

    def has_null_key(self, key: Iterable[str]) -> str:
        """Return the condition that a staged row `s` has a null in its key; unique indexes ignore those."""
        return " OR ".join(f"s.{self.quote(name)} IS NULL" for name in key)

    def same_key(self, key: Iterable[str], equals: str) -> str:
        """Return the condition that target `t` and staged row `s` have the same key."""
        return " AND ".join(f"t.{self.quote(name)} {equals} s.{self.quote(name)}" for name in key)
