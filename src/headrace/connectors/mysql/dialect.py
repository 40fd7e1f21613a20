"""The dialect of MySQL and MariaDB: LOAD DATA, ON DUPLICATE KEY, tables that no transaction undoes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from headrace.connectors.sql.dialect import (
    CHUNK,
    LEDGER,
    RUNS,
    SEQUENCE,
    Database,
    body,
    client,
    listed,
    qualified,
    some_null,
)
from headrace.connectors.sql.lines import Spelling
from headrace.connectors.sql.tables import RETRACTION, Table

pymysql = client("pymysql", extra="mysql")

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
_TAKEN: dict[str, tuple[str, ...]] = {
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
_FULL_DISK, _TWO_ROWS, _UNSAFE = 1021, 1242, 1196
_TAKEN_BY_ANOTHER = "another unique key of the table holds that value already; mend the data or the table"
_LOST = (1053, 1152, 1184, 1927, 2002, 2003, 2006, 2013, 2055)
_AWAY = "is the server running, and is the address right?"
_HINTS = {
    **dict.fromkeys(_LOST, _AWAY),
    1044: "grant the user rights on the database",
    1045: "check user and password",
    1049: "create the database, or name another in the URL",
    1142: "grant the user the right to create tables and to write to the table",
    _FULL_DISK: "free some space on the server; the epoch comes again when the run is started again",
    1114: "free some space on the server; the epoch comes again when the run is started again",
    1148: "allow it on the server: SET GLOBAL local_infile = 1",
    3948: "allow it on the server: SET GLOBAL local_infile = 1",
    4166: "allow it on the server: SET GLOBAL local_infile = 1",
    1062: _TAKEN_BY_ANOTHER,
    _TWO_ROWS: _TAKEN_BY_ANOTHER,
    **dict.fromkeys(
        (1264, 1265, 1292, 1366, 1406),
        "the value doesn't fit the column; cast it in a select or change the column",
    ),
    _UNSAFE: "ALTER TABLE ... ENGINE InnoDB, or write to another table",
}
_FULL = "utf8mb4"
# Text is compared byte by byte, spaces at its end too, as Spark does. The two servers have each its own word for that,
# and each reads the comments that are meant for it.
_KEPT = f"ENGINE InnoDB CHARACTER SET {_FULL} /*M! COLLATE {_FULL}_nopad_bin */ /*!80017 COLLATE {_FULL}_0900_bin */"


@dataclass(frozen=True)
class MySQLDialect:
    """Speaks to one database of a MySQL or MariaDB server."""

    url: str = field(repr=False)
    writes: bool = False
    """Whether tables must be able to undo what a transaction did."""
    kind: ClassVar[str] = "mysql"
    spelling: ClassVar[Spelling] = Spelling(true_is_one=True)

    @property
    def place(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.hostname or 'localhost'}:{parts.port or 3306}{parts.path}"

    def connect(self) -> Database:
        parts = urlsplit(self.url)
        connection = pymysql.connect(
            host=parts.hostname or "localhost",
            port=parts.port or 3306,
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=parts.path.strip("/"),
            charset=_FULL,
            autocommit=True,
            local_infile=True,
            connect_timeout=10,
            init_command="SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        )
        return _Session(connection)

    def declared(self, kind: str, in_key: bool) -> str:
        if kind in _TYPES or kind.startswith("decimal"):
            return _TYPES.get(kind, kind)
        if kind == "binary":
            return "varbinary(255)" if in_key else "longblob"
        return "varchar(255)" if in_key else "longtext"

    def accepts(self, kind: str, declared: str) -> bool:
        if kind in _TAKEN:
            return declared in _TAKEN[kind]
        if kind in ("bigint", "int", "smallint", "tinyint") or kind.startswith("decimal"):
            return declared in (*_NUMBERS, *_TEXTS)
        return declared in (*_TEXTS, "enum", "set", "json", "uuid", "inet4", "inet6")

    def spark_type(self, declared: str) -> str:
        if declared in _BYTES:
            return "binary"
        return _SPARK.get(declared, "string")

    def as_text(self, name: str, binary: bool) -> str:
        return f"hex({self.quoted(name)})" if binary else f"cast({self.quoted(name)} AS char)"

    def compared(self, declared: str, text: str) -> Any:
        # A number as text would be compared as a float, which is not exact beyond 2^53.
        return Decimal(text) if declared in _NUMBERS else text

    def quoted(self, name: str) -> str:
        return _quoted(name)

    def ledger(self) -> Sequence[str]:
        name = "varchar(190) NOT NULL"
        return (
            f"CREATE TABLE IF NOT EXISTS {RUNS} (pipeline {name}, sink {name}, run bigint NOT NULL,"
            f" PRIMARY KEY (pipeline, sink)) {_KEPT}",
            f"CREATE TABLE IF NOT EXISTS {LEDGER} (pipeline {name}, sink {name}, lineage {name},"
            " epoch bigint NOT NULL, run bigint NOT NULL, committed_at timestamp(6) NOT NULL DEFAULT now(6),"
            f" PRIMARY KEY (pipeline, sink, lineage)) {_KEPT}",
        )

    def columns(self, database: Database, table: str) -> dict[str, tuple[str, bool]]:
        query = """
            SELECT column_name, data_type,
                   is_nullable = 'NO' AND column_default IS NULL AND extra NOT LIKE '%%auto_increment%%'
                   AND extra NOT LIKE '%%GENERATED%%'
            FROM information_schema.columns
            WHERE table_schema = coalesce(%s, database()) AND table_name = %s
            ORDER BY ordinal_position"""
        if self.writes:
            self._refuse_unsafe(database, table)
        return {row[0]: (row[1].lower(), bool(row[2])) for row in database.rows(query, _split(table))}

    def _refuse_unsafe(self, database: Database, table: str) -> None:
        """A table whose engine has no transactions keeps the rows of a commit that died, and gets them again."""
        query = """
            SELECT t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine
            WHERE t.table_schema = coalesce(%s, database()) AND t.table_name = %s AND e.transactions = 'NO'"""
        for (engine,) in database.rows(query, _split(table)):
            raise pymysql.NotSupportedError(_UNSAFE, f"its engine, {engine}, has no transactions")

    def unique(self, database: Database, table: str, key: Sequence[str]) -> bool:
        query = """
            SELECT group_concat(column_name ORDER BY column_name SEPARATOR '\\n')
            FROM information_schema.statistics
            WHERE table_schema = coalesce(%s, database()) AND table_name = %s AND non_unique = 0
            GROUP BY index_name"""
        return any(set(row[0].split("\n")) == set(key) for row in database.rows(query, _split(table)))

    def create(self, table: Table) -> str:
        return f"CREATE TABLE IF NOT EXISTS {qualified(self, table.name)} {body(self, table)} {_KEPT}"

    def create_stage(self, table: Table, stage: str) -> str:
        retraction = f", {RETRACTION} boolean NULL" if table.retracts else ""
        return (
            f"CREATE TABLE {self.quoted(stage)} ({CHUNK} bigint, {SEQUENCE} bigint{retraction}) ENGINE InnoDB"
            f" SELECT {listed(self, table.names)} FROM {qualified(self, table.name)} WHERE false"
        )

    def stages(self, database: Database, prefix: str) -> list[str]:
        query = (
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = database() AND left(table_name, %s) = %s"
        )
        return [row[0] for row in database.rows(query, (len(prefix), prefix))]

    def fold(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        target, names = qualified(self, table.name), listed(self, table.names)
        ranked = (
            f"SELECT s.*, row_number() OVER (PARTITION BY {listed(self, table.key)} ORDER BY {SEQUENCE} DESC)"
            f" AS _headrace_rank FROM ({staged}) s"
        )
        last = f"SELECT * FROM ({ranked}) r WHERE _headrace_rank = 1"
        same = " AND ".join(f"t.{self.quoted(name)} <=> s.{self.quoted(name)}" for name in table.key)
        statements = []
        if null_keys:  # deleted, then inserted
            statements.append(
                f"DELETE t FROM {target} t JOIN ({staged}) s ON {same} WHERE {some_null(self, table.key)}"
            )
        if table.retracts:
            statements.append(f"DELETE t FROM {target} t JOIN ({last}) s ON {same} WHERE s.{RETRACTION}")
        given = table.values or table.key
        updates = ", ".join(f"{self.quoted(name)} = VALUES({self.quoted(name)})" for name in given)
        statements.append(
            f"INSERT INTO {target} ({names}) SELECT {names} FROM ({last}) s"
            f"{f' WHERE {RETRACTION} IS NOT TRUE' if table.retracts else ''}"
            f" ON DUPLICATE KEY UPDATE {self._guard(table)}, {updates}"
        )
        return statements

    def _guard(self, table: Table) -> str:
        """An assignment that changes nothing, and fails where the row there has another key.

        Any unique key makes a row a duplicate, and MySQL would overwrite the row of another key, which is then lost.
        """
        here = {name: f"{qualified(self, table.name)}.{self.quoted(name)}" for name in table.key}
        same = " AND ".join(f"{place} <=> VALUES({self.quoted(name)})" for name, place in here.items())
        name, place = next(iter(here.items()))
        return (
            f"{self.quoted(name)} ="
            f" IF({same}, {place}, (SELECT {place} FROM (SELECT 1 UNION ALL SELECT 2) _headrace_two))"
        )

    def told(self, error: Exception) -> tuple[str, str] | None:
        if not isinstance(error, pymysql.MySQLError):
            return None
        number, said = error.args if len(error.args) == 2 else (0, str(error))
        said = (
            "a row has another row's value in a unique column that isn't in the key"
            if number == _TWO_ROWS
            else said
        )
        if not said and self.lost(error):  # all that the client knows
            return "the connection is gone", _AWAY
        # Where it runs out of space depends on the file, and so does the number of the error; the words don't.
        return str(said), _HINTS[_FULL_DISK] if "No space left" in str(said) else _HINTS.get(number, "")

    def lost(self, error: Exception) -> bool:
        known = isinstance(error, pymysql.OperationalError | pymysql.InterfaceError)
        return known and (not error.args or error.args[0] in (0, *_LOST))


class _Session:
    """A connection, with the few verbs that a sink needs."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._connection.cursor() as cursor:
            return int(cursor.execute(statement, values or None))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query, values or None)
            return list(cursor.fetchall())

    def load(self, stage: str, columns: Mapping[str, str], chunk: int, lines: Iterable[bytes]) -> None:
        """By way of a file: the protocol lets the server ask for one."""
        with tempfile.NamedTemporaryFile(prefix="headrace-") as spool:
            for part in lines:
                spool.write(part)
            spool.flush()
            names = [
                f"@v{i}" if kind == "binary" else _quoted(name)
                for i, (name, kind) in enumerate(columns.items())
            ]
            binary = [
                f"{_quoted(name)} = unhex(@v{i})"
                for i, (name, kind) in enumerate(columns.items())
                if kind == "binary"
            ]
            self._load(spool.name, stage, names, [f"{CHUNK} = {chunk}", *binary])

    def close(self) -> None:
        self._connection.close()

    def _load(self, path: str, stage: str, names: Sequence[str], sets: Sequence[str]) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(
                f"LOAD DATA LOCAL INFILE {self._connection.escape(path)} INTO TABLE {_quoted(stage)}"
                f" CHARACTER SET {_FULL} ({SEQUENCE}, {', '.join(names)}) SET {', '.join(sets)}"
            )
            # A local load turns every bad value into another one and a warning: here that is an error.
            cursor.execute("SHOW WARNINGS LIMIT 1")
            warned = cursor.fetchone()
            if warned is not None:
                cursor.execute("ROLLBACK")
                raise pymysql.DataError(int(warned[1]), warned[2])
            cursor.execute("COMMIT")


def _split(table: str) -> tuple[str | None, str]:
    schema, _, name = table.rpartition(".")
    return schema or None, name


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
