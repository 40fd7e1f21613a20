"""PostgreSQL's dialect: COPY, ON CONFLICT, transactional tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.connectors.sql.dialect import (
    APART,
    CHUNK,
    LEDGER,
    RUNS,
    SEQUENCE,
    Database,
    apart,
    body,
    client,
    listed,
    qualified,
    some_null,
)
from headrace.connectors.sql.lines import Spelling
from headrace.connectors.sql.tables import RETRACTION, Table

psycopg = client("psycopg", extra="postgres")

_TYPES = {
    "bigint": "bigint",
    "int": "integer",
    "smallint": "smallint",
    "tinyint": "smallint",
    "double": "double precision",
    "float": "real",
    "boolean": "boolean",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "json": "jsonb",
}
_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
_TEXTS = ("text", "character varying", "character")
_TIMES = ("timestamp with time zone", "timestamp without time zone")
_TAKEN: dict[str, tuple[str, ...]] = {
    "double": ("double precision", "real", "numeric", *_TEXTS),
    "float": ("double precision", "real", "numeric", *_TEXTS),
    "boolean": ("boolean", *_TEXTS),
    "binary": ("bytea",),
    "date": ("date", *_TIMES, *_TEXTS),
    "timestamp": (*_TIMES, *_TEXTS),
    "timestamp_ntz": (*_TIMES, *_TEXTS),
    "json": ("jsonb", "json", *_TEXTS),
}
_SPARK = {declared: kind for kind, declared in _TYPES.items() if kind not in ("tinyint", "json")} | {
    "numeric": "decimal(38, 18)"
}
_HINTS = {
    "08": "is the server running, and is the address right?",
    "28": "check user and password, and the server's pg_hba.conf",
    "3D": "create the database, or name another in the URL",
    "3F": "create the schema, or name another before the table's name",
    "42501": "grant the user the right to create tables in its schema and to write to the table",
    "22": "the value doesn't fit the column; cast it in a select or change the column",
    "23": "a rule of the table refuses the row; mend the data or the rule, then run again: the epoch comes again",
    "53": "free some space on the server; the epoch comes again when the run is started again",
    "57P03": "the server is starting; run again when it takes connections",
    "57": "the server is going down; run again when it is back",
}
_REFUSALS = {
    "authentication failed": "28",
    "no pg_hba": "28",
    "system is starting up": "57P03",
    "system is not yet accepting": "57P03",
    "system is shutting down": "57P01",
    "database": "3D",
}
_LONGEST_WAIT, _LONGEST_SILENCE = "1s", "30s"
_UNTENDED = "WITH (autovacuum_enabled = false)"
_SILENT = "25P03"
"""A session was ended because it said nothing for too long within a transaction."""


@dataclass(frozen=True)
class PostgresDialect:
    """Speaks to one PostgreSQL database."""

    url: str = field(repr=False)
    kind: ClassVar[str] = "postgres"
    spelling: ClassVar[Spelling] = Spelling(zone="+00", hex_mark=r"\\x")

    @property
    def place(self) -> str:
        try:
            said = psycopg.conninfo.conninfo_to_dict(self.url)
        except psycopg.ProgrammingError:
            return "an address that can't be read"
        return f"{said.get('host', 'localhost')}:{said.get('port', 5432)}/{said.get('dbname', '')}"

    def connect(self) -> Database:
        connection = psycopg.connect(
            self.url,
            autocommit=True,
            connect_timeout=10,
            application_name="headrace",
            options="-c timezone=UTC",
        )
        return _Session(connection)

    def declared(self, kind: str, in_key: bool) -> str:
        return _TYPES.get(kind, f"numeric{kind.removeprefix('decimal')}" if "decimal" in kind else "text")

    def accepts(self, kind: str, declared: str) -> bool:
        if kind in _TAKEN:
            return declared in _TAKEN[kind]
        if kind in ("bigint", "int", "smallint", "tinyint") or kind.startswith("decimal"):
            return declared in (*_NUMBERS, *_TEXTS)
        # Text is parsed by the column: an enum, a uuid, an address. Numbers and times want a cast that shows intent.
        return declared not in (*_NUMBERS, *_TIMES, "boolean", "date", "bytea")

    def spark_type(self, declared: str) -> str:
        return _SPARK.get(declared, "string")

    def as_text(self, name: str, binary: bool) -> str:
        return f"encode({self.quoted(name)}, 'hex')" if binary else f"{self.quoted(name)}::text"

    def compared(self, declared: str, text: str) -> str:
        return text  # without a type of its own: the server reads it as the column's

    def quoted(self, name: str) -> str:
        return _quoted(name)

    def ledger(self) -> Sequence[str]:
        return (
            f"CREATE TABLE IF NOT EXISTS {RUNS} (pipeline text, sink text, run bigint NOT NULL,"
            " PRIMARY KEY (pipeline, sink))",
            f"CREATE TABLE IF NOT EXISTS {LEDGER} (pipeline text, sink text, lineage text, epoch bigint NOT NULL,"
            " run bigint NOT NULL, committed_at timestamptz NOT NULL DEFAULT now(),"
            " PRIMARY KEY (pipeline, sink, lineage))",
        )

    def columns(self, database: Database, table: str) -> dict[str, tuple[str, bool]]:
        query = """
            SELECT a.attname, format_type(a.atttypid, NULL),
                   a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = ''
            FROM pg_attribute a
            WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY a.attnum"""
        return {row[0]: (row[1], row[2]) for row in database.rows(query, (qualified(self, table),))}

    def unique(self, database: Database, table: str, key: Sequence[str]) -> bool:
        query = """
            SELECT array_agg(a.attname::text)
            FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
            GROUP BY i.indexrelid"""
        return any(set(row[0]) == set(key) for row in database.rows(query, (qualified(self, table),)))

    def create(self, table: Table) -> str:
        return f"CREATE TABLE IF NOT EXISTS {qualified(self, table.name)} {body(self, table)}"

    def create_stage(self, table: Table, stage: str) -> str:
        retraction = f", NULL::boolean AS {RETRACTION}" if table.retracts else ""
        # Unlogged: what a crash of the server empties belongs to an epoch that comes again.
        return (
            f"CREATE UNLOGGED TABLE {self.quoted(stage)} {_UNTENDED} AS SELECT NULL::bigint AS {CHUNK},"
            f" NULL::bigint AS {SEQUENCE}, {listed(self, table.names)}{retraction}"
            f" FROM {qualified(self, table.name)} WHERE false;"
            f" ALTER TABLE {self.quoted(stage)} ALTER {CHUNK}"
            " SET DEFAULT current_setting('headrace.chunk')::bigint"
        )

    def stages(self, database: Database, prefix: str) -> list[str]:
        query = "SELECT tablename FROM pg_tables WHERE starts_with(tablename, %s) AND schemaname = current_schema()"
        return [row[0] for row in database.rows(query, (prefix,))]

    def fold(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        target, names = qualified(self, table.name), listed(self, table.names)
        last = self._last(table, staged)
        statements = []
        if null_keys:  # looked up slowly: no index finds them all
            statements.append(
                f"DELETE FROM {target} t USING ({staged}) s WHERE ({some_null(self, table.key)}) AND"
                f" {self._same(table.key, 'IS NOT DISTINCT FROM')}"
            )
        if table.retracts:
            statements.append(
                f"DELETE FROM {target} t USING ({last}) s WHERE s.{RETRACTION} AND {self._same(table.key, '=')}"
            )
        updates = ", ".join(f"{self.quoted(name)} = EXCLUDED.{self.quoted(name)}" for name in table.values)
        statements.append(
            f"INSERT INTO {target} ({names}) SELECT {names} FROM ({last}) s"
            f"{f' WHERE {RETRACTION} IS NOT TRUE' if table.retracts else ''}"
            f" ON CONFLICT ({listed(self, table.key)}) DO {f'UPDATE SET {updates}' if updates else 'NOTHING'}"
        )
        return statements

    def register(self, name: str) -> str:
        return (
            f"CREATE UNLOGGED TABLE {self.quoted(name)} (chunk bigint, first bigint, size bigint, keys bytea) {_UNTENDED};"
            f" ALTER TABLE {self.quoted(name)} ALTER keys SET STORAGE EXTERNAL"  # hashes don't get smaller
        )

    def hold(self) -> str:
        return (
            "BEGIN ISOLATION LEVEL READ COMMITTED;"
            f" SET LOCAL idle_in_transaction_session_timeout = '{_LONGEST_SILENCE}'"
        )

    def add(self, table: Table, staged: str) -> str:
        # A third cheaper than ON CONFLICT, which looks up every key and marks every row as not quite there yet. Whoever
        # holds one of the keys may wait for us, as another sink of the same epoch would: so we don't wait for them.
        names = listed(self, table.names)
        rows = f"({staged}) s" if table.key else f"({staged}) s ORDER BY {SEQUENCE}"
        return (
            f"SET LOCAL lock_timeout = '{_LONGEST_WAIT}';"
            f" INSERT INTO {qualified(self, table.name)} ({names}) SELECT {names} FROM {rows};"
            " SET LOCAL lock_timeout TO DEFAULT"
        )

    def refused(self, error: Exception) -> bool:
        return isinstance(error, psycopg.errors.UniqueViolation | psycopg.errors.LockNotAvailable)

    def evict(self, database: Database, prefix: str) -> None:
        query = """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND usename = current_user AND backend_type = 'client backend' AND pid IN (
                SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                WHERE starts_with(c.relname, %s) AND c.relnamespace = current_schema()::regnamespace)"""
        database.rows(query, (prefix,))

    def told(self, error: Exception) -> tuple[str, str] | None:
        if not isinstance(error, psycopg.Error):
            return None
        # Before there is a session the client has only the server's words.
        state = error.sqlstate or next(
            (code for words, code in _REFUSALS.items() if words in _refusal(error)), "08"
        )
        hint = next((hint for code, hint in _HINTS.items() if state.startswith(code)), "")
        said = (error.diag.message_primary or str(error)).strip().splitlines()[0]
        detail = error.diag.message_detail
        return (f"{said} ({detail})" if detail else said), hint

    def lost(self, error: Exception) -> bool:
        if not isinstance(error, psycopg.OperationalError):
            return isinstance(error, psycopg.Error) and error.sqlstate == _SILENT
        refused = ("authentication", "does not exist", "no pg_hba", "permission denied", "not permitted")
        if error.sqlstate is None:
            return not any(word in str(error) for word in refused)
        return bool(error.sqlstate.startswith(("08", "57P")))

    def _last(self, table: Table, staged: str) -> str:
        """The last row of each key, in the order of the keys: neighbours in the index are then touched together."""
        key = listed(self, table.key)
        return f"SELECT DISTINCT ON ({key}) * FROM ({staged}) s ORDER BY {key}, {SEQUENCE} DESC"

    def _same(self, key: Sequence[str], equals: str) -> str:
        return " AND ".join(f"t.{self.quoted(name)} {equals} s.{self.quoted(name)}" for name in key)


class _Session:
    """A connection, with the few verbs that a sink needs."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        cursor = self._connection.execute(statement, values or None)
        return max(int(cursor.rowcount), 0)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(query, values or None).fetchall())

    def load(self, stage: str, columns: Mapping[str, str], chunk: int, lines: Iterable[bytes]) -> None:
        names = ", ".join(map(_quoted, columns))
        own = _quoted(apart(stage, chunk)) if chunk & APART else ""
        # Rows of a table that nobody else can see yet may be frozen: who reads them asks for no transaction's state.
        copied = f"{own or _quoted(stage)} ({SEQUENCE}, {names}) FROM STDIN{' (FREEZE)' if own else ''}"
        with self._connection.transaction(), self._connection.cursor() as cursor:
            if own:
                cursor.execute(f"CREATE UNLOGGED TABLE {own} (LIKE {_quoted(stage)}) {_UNTENDED}")
            else:
                cursor.execute("SELECT set_config('headrace.chunk', %s, true)", (str(chunk),))
            with cursor.copy(f"COPY {copied}") as copy:
                for part in lines:
                    copy.write(part)

    def close(self) -> None:
        self._connection.close()


def _refusal(error: Exception) -> str:
    """What the server said when it refused a connection; empty where it said nothing."""
    return str(error).partition("FATAL:")[2]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
