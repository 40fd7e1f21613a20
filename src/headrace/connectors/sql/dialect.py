"""What the databases say differently. Everything else about a sink is in `sink.py`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, Protocol, runtime_checkable

from headrace.connectors.sql.lines import Spelling
from headrace.connectors.sql.tables import Table
from headrace.errors import SetupError

RUNS = "_headrace_runs"
LEDGER = "_headrace_ledger"
STAGING = "_headrace_stage"
CHUNK, SEQUENCE = "_headrace_chunk", "_headrace_seq"
"""Columns of a staging table beside the stream's: the chunk that the row was loaded in, and its place in the epoch."""
APART = 1 << 19
"""The bit in the number of a chunk that isn't in the epoch's staging table but in one of its own."""


class Database(Protocol):
    """An open connection, outside a transaction until `BEGIN`."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it touched."""
        ...

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...

    def load(self, stage: str, columns: Mapping[str, str], chunk: int, lines: Iterable[bytes]) -> None:
        """Load lines of text into a staging table, all or none, marked with their chunk.

        Args:
            stage: the table.
            columns: the columns of a line after its number, with Spark's names of their types.
            chunk: its number, which tells the attempt of a task, too. If it is `APART`, a table of its own is made for it.
            lines: tabs between values, a backslash and N for null.
        """
        ...

    def close(self) -> None:
        """Let go of the server; what is not committed is undone."""
        ...


class Readable(Protocol):
    """What reading a table needs to know of a database. An instance is sent to the executors: it holds no connection."""

    kind: ClassVar[str]

    @property
    def place(self) -> str:
        """Where the server is, without the password."""
        ...

    def connect(self) -> Database:
        """Connect, in UTC and strict about values."""
        ...

    def columns(self, database: Database, table: str) -> dict[str, tuple[str, bool]]:
        """The columns of a table that is there: type, and whether a value must be given."""
        ...

    def spark_type(self, declared: str) -> str:
        """Spark's type for a column of a table that is there; text where there is no other."""
        ...

    def as_text(self, name: str, binary: bool) -> str:
        """The expression of a column as text, bytes as hexadecimal digits."""
        ...

    def compared(self, declared: str, text: str) -> Any:
        """A value that was read as text, for a comparison with a column of this type that an index can serve."""
        ...

    def quoted(self, name: str) -> str:
        """A name as the server's SQL reads it, whatever it holds."""
        ...

    def told(self, error: Exception) -> tuple[str, str] | None:
        """What the server said and what to do about it, if the error is the server's."""
        ...

    def lost(self, error: Exception) -> bool:
        """Whether the error is a lost connection or a server on its way down: worth another attempt."""
        ...


class Dialect(Readable, Protocol):
    """One kind of server, read and written."""

    spelling: ClassVar[Spelling]

    def declared(self, kind: str, in_key: bool) -> str:
        """The type of a column for one of Spark's types."""
        ...

    def accepts(self, kind: str, declared: str) -> bool:
        """Whether a column of a table that is there can take values of one of Spark's types."""
        ...

    def ledger(self) -> Sequence[str]:
        """The statements that make the tables of runs and epochs, if they aren't there."""
        ...

    def unique(self, database: Database, table: str, key: Sequence[str]) -> bool:
        """Whether exactly these columns are unique in a table, so that an upsert finds their row."""
        ...

    def create(self, table: Table) -> str:
        """The statement that makes the target table."""
        ...

    def create_stage(self, table: Table, stage: str) -> str:
        """The statement that makes a staging table, whose columns have the target's types."""
        ...

    def stages(self, database: Database, prefix: str) -> list[str]:
        """The staging tables whose names start so."""
        ...

    def fold(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        """The statements that bring the rows of a query into a table with a key, the last row of each key winning.

        Args:
            table: the target.
            staged: the query.
            null_keys: whether any of the rows has a null in its key.
        """
        ...


@runtime_checkable
class Overlapping(Protocol):
    """A dialect whose server can take chunks into the table, in a transaction that is held open, while tasks load others."""

    def register(self, name: str) -> str:
        """The statement that makes the table in which tasks tell of chunks: `chunk`, `first`, `size`, `keys`."""
        ...

    def hold(self) -> str:
        """The statements that begin a transaction which sees what others commit, and which the server ends if we vanish."""
        ...

    def add(self, table: Table, staged: str) -> str:
        """The statement for rows whose keys are all new and come once; it fails where one isn't.

        It isn't asked for rows with a null in their key, nor for retractions.
        """
        ...

    def refused(self, error: Exception) -> bool:
        """Whether the error says that a key is in the table already, or that somebody else holds it."""
        ...

    def evict(self, database: Database, prefix: str) -> None:
        """End the sessions that still hold staging tables whose names start so."""
        ...


def listed(dialect: Dialect, names: Iterable[str]) -> str:
    """Names of columns as a list of SQL."""
    return ", ".join(map(dialect.quoted, names))


def qualified(dialect: Readable, table: str) -> str:
    """The name of a table, perhaps with its schema, as SQL."""
    return ".".join(map(dialect.quoted, table.split(".")))


def body(dialect: Dialect, table: Table) -> str:
    """The columns of a table and its key, as CREATE TABLE says them."""
    parts = [f"{dialect.quoted(column.name)} {column.declared}" for column in table.columns]
    if table.key:
        parts.append(
            f"UNIQUE ({listed(dialect, table.key)})"
        )  # a primary key would refuse a null, which is a key
    return f"({', '.join(parts)})"


def staged(dialect: Dialect, stage: str, chunks: Collection[int]) -> str:
    """The query for the rows of some chunks of an epoch."""
    together = ", ".join(str(chunk) for chunk in chunks if not chunk & APART)
    parts = [f"SELECT * FROM {dialect.quoted(stage)} WHERE {CHUNK} IN ({together})"] if together else []
    parts += [f"SELECT * FROM {dialect.quoted(apart(stage, chunk))}" for chunk in chunks if chunk & APART]
    return " UNION ALL ".join(parts)


def apart(stage: str, chunk: int) -> str:
    """The staging table of a chunk that has one of its own."""
    return f"{stage}_{chunk:x}"


def append(dialect: Dialect, table: Table, rows: str) -> str:
    """The statement that adds the rows of a query to a table without a key, in their order."""
    names = listed(dialect, table.names)
    return f"INSERT INTO {qualified(dialect, table.name)} ({names}) SELECT {names} FROM ({rows}) s ORDER BY {SEQUENCE}"


def some_null(dialect: Dialect, key: Iterable[str]) -> str:
    """Whether a staged row, `s`, has a null in its key: unique indexes hold no two nulls equal, and we do."""
    return " OR ".join(f"s.{dialect.quoted(name)} IS NULL" for name in key)


def client(module: str, *, extra: str) -> Any:
    """The client library of a database, which is an extra of the package.

    Raises:
        SetupError: it isn't installed; the hint installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise SetupError(
            f"the Python package `{module}` is missing", hint=f'pip install "headrace[{extra}]"'
        ) from error
