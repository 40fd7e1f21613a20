"""The dialect of MySQL and MariaDB: LOAD DATA, ON DUPLICATE KEY, tables that no transaction undoes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from headrace.connectors.extras import import_client
from headrace.connectors.sql.copy_text import TextForms
from headrace.connectors.sql.dialect import ATTEMPT, SEQUENCE, Dialect, Session
from headrace.connectors.sql.table import RETRACTION, Table

pymysql = import_client("pymysql", extra="mysql")

_TYPES = {
    "bigint": "bigint",
    "int": "int",
    "smallint": "smallint",
    "tinyint": "tinyint",
    "double": "double",
    "float": "float",
    "boolean": "tinyint(1)",
    "date": "date",
    "timestamp": "datetime(6)",
    "timestamp_ntz": "datetime(6)",
}
_NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double")
_TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_ACCEPTED: dict[str, tuple[str, ...]] = {
    "double": ("double", "float", "decimal", *_TEXTS),
    "float": ("double", "float", "decimal", *_TEXTS),
    "boolean": ("tinyint", "bit", "int", *_TEXTS),
    "binary": _BYTES,
    "date": ("date", "datetime", *_TEXTS),
    "timestamp": ("datetime", "timestamp", *_TEXTS),
    "timestamp_ntz": ("datetime", "timestamp", *_TEXTS),
    "json": ("json", *_TEXTS),
}
_SPARK = {
    "tinyint": "int",
    "smallint": "int",
    "mediumint": "int",
    "int": "int",
    "bigint": "bigint",
    "decimal": "decimal(38, 18)",
    "float": "float",
    "double": "double",
    "date": "date",
    "datetime": "timestamp",
    "timestamp": "timestamp",
}
_FULL_DISK, _TWO_ROWS, _UNSAFE, _LOCKED = 1021, 1242, 1196, 1205
_FREE_SPACE = "free some space on the server, then run again: the epoch is written again"
_CONFLICT = "another unique key of the table has that value already; correct the data or the table"
_CONNECTION_LOST = (1053, 1152, 1184, 1927, 2002, 2003, 2006, 2013, 2055)
_UNREACHABLE = "is the server running, and is the address right?"
_FILE_REQUESTED = "the server requests a file of this machine"
_RIGHT_SERVER = "is this the right server? It may be hostile"
_MALFORMED = 2027
_HINTS = {
    _MALFORMED: _RIGHT_SERVER,
    **dict.fromkeys(_CONNECTION_LOST, _UNREACHABLE),
    1044: "grant the user rights on the database",
    1045: "check user and password",
    1049: "create the database, or name another in the URL",
    1142: "grant the user the right to create tables and to write to the table",
    _FULL_DISK: _FREE_SPACE,
    1114: _FREE_SPACE,
    1148: "allow it on the server: SET GLOBAL local_infile = 1",
    3948: "allow it on the server: SET GLOBAL local_infile = 1",
    4166: "allow it on the server: SET GLOBAL local_infile = 1",
    1062: _CONFLICT,
    _TWO_ROWS: _CONFLICT,
    **dict.fromkeys(
        (1264, 1265, 1292, 1366, 1406),
        "the value does not fit the column; cast it in a select or change the column",
    ),
    _UNSAFE: "ALTER TABLE ... ENGINE InnoDB, or write to another table",
}
_FULL = "utf8mb4"
# Binary collation, trailing spaces included, as in Spark. MariaDB and MySQL name it differently; each server
# reads the comment meant for it.
_COLLATION = f"/*M! COLLATE {_FULL}_nopad_bin */ /*!80017 COLLATE {_FULL}_0900_bin */"


@dataclass(frozen=True)
class MySQLDialect(Dialect):
    """The dialect of one database of a MySQL or MariaDB server."""

    url: str = field(repr=False)
    writes: bool = False
    """True for a sink, whose tables must have transactions."""
    kind: ClassVar[str] = "mysql"
    table_options: ClassVar[str] = f" ENGINE InnoDB CHARACTER SET {_FULL} {_COLLATION}"
    ledger_name_type: ClassVar[str] = "varchar(190) NOT NULL"
    ledger_time_type: ClassVar[str] = "timestamp(6) NOT NULL DEFAULT now(6)"
    # INSERT ... SELECT would otherwise lock all staged rows, and wait for tasks that still load.
    begin: ClassVar[tuple[str, ...]] = ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN")
    text_forms: ClassVar[TextForms] = TextForms(boolean="int")
    short_lock_wait: ClassVar[tuple[str, str]] = (
        "SET SESSION lock_wait_timeout = 1",
        "SET SESSION lock_wait_timeout = DEFAULT",
    )

    @property
    def address(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.hostname or 'localhost'}:{parts.port or 3306}{parts.path}"

    def connect(self) -> Session:
        parts = urlsplit(self.url)
        connection = pymysql.connect(
            host=parts.hostname or "localhost",
            port=parts.port or 3306,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=parts.path.strip("/"),
            charset=_FULL,
            autocommit=True,
            local_infile=self.writes,
            connect_timeout=10,
            init_command="SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
            defer_connect=True,
        )
        connection._local_infile = False  # see `_Session._send_only`
        connection.connect()
        return _Session(connection)

    def column_type(self, kind: str, in_key: bool) -> str:
        if kind in _TYPES or kind.startswith("decimal"):
            return _TYPES.get(kind, kind)
        if kind == "binary":
            return "varbinary(255)" if in_key else "longblob"
        return "varchar(255)" if in_key else "longtext"

    def accepts(self, kind: str, declared: str) -> bool:
        if kind in _ACCEPTED:
            return declared in _ACCEPTED[kind]
        if kind in ("bigint", "int", "smallint", "tinyint") or kind.startswith("decimal"):
            return declared in (*_NUMBERS, *_TEXTS)
        return declared in (*_TEXTS, "enum", "set", "json", "uuid", "inet4", "inet6")

    def spark_type(self, declared: str) -> str:
        if declared in _BYTES:
            return "binary"
        return _SPARK.get(declared, "string")

    def as_text(self, name: str, declared: str | None = None) -> str:
        return f"hex({self.quote(name)})" if declared in _BYTES else f"cast({self.quote(name)} AS char)"

    def parameter(self, declared: str, text: str) -> Any:
        # MySQL compares a number with text as floats, which are not exact beyond 2^53.
        return Decimal(text) if declared in _NUMBERS else text

    def quote(self, name: str) -> str:
        return _quote(name)

    def columns(self, session: Session, table: str) -> dict[str, tuple[str, bool]]:
        query = """
            SELECT column_name, data_type,
                   is_nullable = 'NO' AND column_default IS NULL AND extra NOT LIKE '%%auto_increment%%'
                   AND extra NOT LIKE '%%GENERATED%%'
            FROM information_schema.columns
            WHERE table_schema = coalesce(%s, database()) AND table_name = %s
            ORDER BY ordinal_position"""
        if self.writes:
            self._check_engine(session, table)
        return {row[0]: (row[1].lower(), bool(row[2])) for row in session.rows(query, _split(table))}

    def _check_engine(self, session: Session, table: str) -> None:
        """Raise an error if the engine has no transactions: a failed commit would leave rows there."""
        query = """
            SELECT t.engine FROM information_schema.tables t
            JOIN information_schema.engines e ON e.engine = t.engine
            WHERE t.table_schema = coalesce(%s, database()) AND t.table_name = %s AND e.transactions = 'NO'"""
        for (engine,) in session.rows(query, _split(table)):
            raise pymysql.NotSupportedError(_UNSAFE, f"its engine, {engine}, has no transactions")

    def has_unique_key(self, session: Session, table: str, key: Sequence[str]) -> bool:
        query = """
            SELECT group_concat(column_name ORDER BY column_name SEPARATOR '\\n')
            FROM information_schema.statistics
            WHERE table_schema = coalesce(%s, database()) AND table_name = %s AND non_unique = 0
            GROUP BY index_name"""
        return any(set(row[0].split("\n")) == set(key) for row in session.rows(query, _split(table)))

    def create_stage(self, table: Table, stage: str) -> str:
        retraction = f", {RETRACTION} boolean NULL" if table.retracts else ""
        return (
            f"CREATE TABLE {self.quote(stage)}"
            f" ({ATTEMPT} bigint, {SEQUENCE} bigint{retraction}) ENGINE InnoDB"
            f" SELECT {self.quote_all(table.names)} FROM {self.quote_table(table.name)} WHERE false"
        )

    def tables(self, session: Session) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = database()"
        return [name for (name,) in session.rows(query)]

    def upsert(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        target, last = self.quote_table(table.name), self.last_rows(table, staged)
        same = self.same_key(table.key, "<=>")
        statements = []
        if null_keys:  # deleted, then inserted
            statements.append(
                f"DELETE t FROM {target} t JOIN ({staged}) s ON {same} WHERE {self.has_null_key(table.key)}"
            )
        if table.retracts:
            statements.append(f"DELETE t FROM {target} t JOIN ({last}) s ON {same} WHERE s.{RETRACTION}")
        updated = table.values or table.key
        updates = ", ".join(f"{self.quote(name)} = VALUES({self.quote(name)})" for name in updated)
        statements.append(
            f"{self.insert_last(table, staged)} ON DUPLICATE KEY UPDATE {self._guard(table)}, {updates}"
        )
        return statements

    def is_locked(self, error: Exception) -> bool:
        return isinstance(error, pymysql.MySQLError) and error.args[:1] == (_LOCKED,)

    def _guard(self, table: Table) -> str:
        """Return an assignment that changes nothing, and fails if the existing row has another key.

        Any unique index makes a row a duplicate, and MySQL would overwrite the row of another key.
        """
        columns = {name: f"{self.quote_table(table.name)}.{self.quote(name)}" for name in table.key}
        same = " AND ".join(f"{column} <=> VALUES({self.quote(name)})" for name, column in columns.items())
        name, column = next(iter(columns.items()))
        return (
            f"{self.quote(name)} ="
            f" IF({same}, {column}, (SELECT {column} FROM (SELECT 1 UNION ALL SELECT 2) _headrace_two))"
        )

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        if isinstance(error, RuntimeError) and "LOAD_LOCAL" in str(error):
            return _FILE_REQUESTED, _RIGHT_SERVER
        if not isinstance(error, pymysql.MySQLError):
            return None
        number, message = error.args if len(error.args) == 2 else (0, str(error))
        if number == _TWO_ROWS:
            message = "a row has another row's value in a unique column outside the key"
        if not message and self.is_unavailable(error):  # the client has no details
            return "the connection is lost", _UNREACHABLE
        # The error number of a full disk depends on the file; the text does not.
        full = "No space left" in str(message)
        return str(message), _FREE_SPACE if full else _HINTS.get(number, "")

    def is_unavailable(self, error: Exception) -> bool:
        known = isinstance(error, pymysql.OperationalError | pymysql.InterfaceError)
        return known and (not error.args or error.args[0] in (0, *_CONNECTION_LOST))


class _Session:
    """A connection of PyMySQL."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._connection.cursor() as cursor:
            return int(cursor.execute(statement, values or None))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query, values or None)
            return list(cursor.fetchall())

    def load(self, stage: str, columns: Mapping[str, str], attempt: int, lines: Iterable[bytes]) -> None:
        """Load the lines through a file, as the LOAD DATA protocol requires."""
        with tempfile.NamedTemporaryFile(prefix="headrace-") as spool:
            for part in lines:
                spool.write(part)
            spool.flush()
            names = [
                f"@v{i}" if kind == "binary" else _quote(name)
                for i, (name, kind) in enumerate(columns.items())
            ]
            binary = [
                f"{_quote(name)} = unhex(@v{i})"
                for i, (name, kind) in enumerate(columns.items())
                if kind == "binary"
            ]
            self._load(spool.name, stage, names, [f"{ATTEMPT} = {attempt}", *binary])

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _send_only(self, path: str) -> Iterator[None]:
        """Send this file to the server if it requests it, inside the block.

        A server may answer any statement with a request for any file, and PyMySQL sends what it requests.
        """
        connection = self._connection
        read = connection._read_packet

        def read_packet(*args: Any) -> Any:
            packet = read(*args)
            if packet.is_load_local_packet() and packet.get_all_data()[1:] != path.encode():
                connection._force_close()
                raise pymysql.OperationalError(_MALFORMED, _FILE_REQUESTED)
            return packet

        connection._read_packet, connection._local_infile = read_packet, True
        try:
            yield
        finally:
            del connection._read_packet
            connection._local_infile = False

    def _load(self, path: str, stage: str, names: Sequence[str], sets: Sequence[str]) -> None:
        statement = (
            f"LOAD DATA LOCAL INFILE {self._connection.escape(path)} INTO TABLE {_quote(stage)}"
            f" CHARACTER SET {_FULL} ({SEQUENCE}, {', '.join(names)}) SET {', '.join(sets)}"
        )
        with self._connection.cursor() as cursor:
            cursor.execute("BEGIN")
            with self._send_only(path):
                cursor.execute(statement)
            # LOAD DATA LOCAL replaces invalid values and adds a warning; treat it as an error.
            cursor.execute("SHOW WARNINGS LIMIT 1")
            warning = cursor.fetchone()
            if warning is not None:
                cursor.execute("ROLLBACK")
                raise pymysql.DataError(int(warning[1]), warning[2])
            cursor.execute("COMMIT")


def _split(table: str) -> tuple[str | None, str]:
    schema, _, name = table.rpartition(".")
    return schema or None, name


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
