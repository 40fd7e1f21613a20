"""PostgreSQL's dialect: COPY, ON CONFLICT, transactional tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.connectors.extras import import_client
from headrace.connectors.sql.copy_text import TextForms
from headrace.connectors.sql.dialect import ATTEMPT, SEQUENCE, Dialect, Session
from headrace.connectors.sql.table import RETRACTION, Table

psycopg = import_client("psycopg", extra="postgres")

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
_ACCEPTED: dict[str, tuple[str, ...]] = {
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
    "22": "the value does not fit the column; cast it in a select or change the column",
    "23": "a constraint of the table rejects the row; correct the data or the constraint, then run again",
    "53": "free some space on the server, then run again: the epoch is written again",
    "57P03": "the server is starting; run again when it accepts connections",
    "57": "the server is shutting down; run again when it is available",
}
_REFUSALS = {
    "authentication failed": "28",
    "no pg_hba": "28",
    "system is starting up": "57P03",
    "system is not yet accepting": "57P03",
    "system is shutting down": "57P01",
    "database": "3D",
}


@dataclass(frozen=True)
class PostgresDialect(Dialect):
    """The dialect of one PostgreSQL database."""

    url: str = field(repr=False)
    kind: ClassVar[str] = "postgres"
    ledger_time_type: ClassVar[str] = "timestamptz NOT NULL DEFAULT now()"
    # 1.3 to 1.4 times the throughput of ON CONFLICT, which looks up every key and inserts speculatively.
    insert_first: ClassVar[bool] = True
    text_forms: ClassVar[TextForms] = TextForms(zone="+00", hex_prefix=r"\\x")
    short_lock_wait: ClassVar[tuple[str, str]] = ("SET lock_timeout = '1s'", "RESET lock_timeout")

    @property
    def address(self) -> str:
        try:
            address = psycopg.conninfo.conninfo_to_dict(self.url)
        except psycopg.ProgrammingError:
            return "an invalid address"
        return f"{address.get('host', 'localhost')}:{address.get('port', 5432)}/{address.get('dbname', '')}"

    def connect(self) -> Session:
        connection = psycopg.connect(
            self.url,
            autocommit=True,
            connect_timeout=10,
            application_name="headrace",
            options="-c timezone=UTC",
        )
        return _Session(connection)

    def column_type(self, kind: str, in_key: bool) -> str:
        return _TYPES.get(kind, f"numeric{kind.removeprefix('decimal')}" if "decimal" in kind else "text")

    def accepts(self, kind: str, declared: str) -> bool:
        if kind in _ACCEPTED:
            return declared in _ACCEPTED[kind]
        if kind in ("bigint", "int", "smallint", "tinyint") or kind.startswith("decimal"):
            return declared in (*_NUMBERS, *_TEXTS)
        # The column parses text: an enum, a uuid, an address. Numbers and times require an explicit cast.
        return declared not in (*_NUMBERS, *_TIMES, "boolean", "date", "bytea")

    def spark_type(self, declared: str) -> str:
        return _SPARK.get(declared, "string")

    def as_text(self, name: str, declared: str | None = None) -> str:
        return f"encode({self.quote(name)}, 'hex')" if declared == "bytea" else f"{self.quote(name)}::text"

    def key_condition(self, key: Mapping[str, str], keys: Sequence[Sequence[str]]) -> tuple[str, list[Any]]:
        # One array per column: the statement is the same for every number of keys.
        arrays = ", ".join(f"CAST(CAST(%s AS text[]) AS {kind}[])" for kind in key.values())
        names = self.quote_all(key).replace("%", "%%")
        return f"({names}) IN (SELECT * FROM unnest({arrays}))", [
            _array_literal(column) for column in zip(*keys, strict=True)
        ]

    def quote(self, name: str) -> str:
        return _quote(name)

    def columns(self, session: Session, table: str) -> dict[str, tuple[str, bool]]:
        query = """
            SELECT a.attname, format_type(a.atttypid, NULL),
                   a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attgenerated = ''
            FROM pg_attribute a
            WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY a.attnum"""
        return {row[0]: (row[1], row[2]) for row in session.rows(query, (self.quote_table(table),))}

    def tables(self, session: Session) -> list[str]:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return [name for (name,) in session.rows(query)]

    def has_unique_key(self, session: Session, table: str, key: Sequence[str]) -> bool:
        query = """
            SELECT array_agg(a.attname::text)
            FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
            GROUP BY i.indexrelid"""
        return any(set(row[0]) == set(key) for row in session.rows(query, (self.quote_table(table),)))

    def create_stage(self, table: Table, stage: str) -> str:
        retraction = f", NULL::boolean AS {RETRACTION}" if table.retracts else ""
        # Unlogged: if a crash of the server empties it, the epoch is written again.
        return (
            f"CREATE UNLOGGED TABLE {self.quote(stage)} WITH (autovacuum_enabled = false)"
            f" AS SELECT NULL::bigint AS {ATTEMPT}, NULL::bigint AS {SEQUENCE},"
            f" {self.quote_all(table.names)}{retraction} FROM {self.quote_table(table.name)} WHERE false;"
            f" ALTER TABLE {self.quote(stage)} ALTER {ATTEMPT}"
            " SET DEFAULT current_setting('headrace.attempt')::bigint"
        )

    def last_rows(self, table: Table, staged: str) -> str:
        # In key order: neighbours in the index are written together.
        key = self.quote_all(table.key)
        return f"SELECT DISTINCT ON ({key}) * FROM ({staged}) s ORDER BY {key}, {SEQUENCE} DESC"

    def upsert(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        target, last = self.quote_table(table.name), self.last_rows(table, staged)
        statements = []
        if null_keys:  # no index finds them
            statements.append(
                f"DELETE FROM {target} t USING ({staged}) s WHERE ({self.has_null_key(table.key)}) AND"
                f" {self.same_key(table.key, 'IS NOT DISTINCT FROM')}"
            )
        if table.retracts:
            statements.append(
                f"DELETE FROM {target} t USING ({last}) s"
                f" WHERE s.{RETRACTION} AND {self.same_key(table.key, '=')}"
            )
        updates = ", ".join(f"{self.quote(name)} = EXCLUDED.{self.quote(name)}" for name in table.values)
        action = f"UPDATE SET {updates}" if updates else "NOTHING"
        statements.append(
            f"{self.insert_last(table, staged)} ON CONFLICT ({self.quote_all(table.key)}) DO {action}"
        )
        return statements

    def is_duplicate_key(self, error: Exception) -> bool:
        return isinstance(error, psycopg.errors.UniqueViolation)

    def is_locked(self, error: Exception) -> bool:
        return isinstance(error, psycopg.errors.LockNotAvailable)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        if not isinstance(error, psycopg.Error):
            return None
        # An error while connecting has no SQLSTATE, only the server's text.
        state = error.sqlstate or next(
            (code for words, code in _REFUSALS.items() if words in _refusal(error)), "08"
        )
        hint = next((hint for code, hint in _HINTS.items() if state.startswith(code)), "")
        message = (error.diag.message_primary or str(error)).strip().splitlines()[0]
        detail = error.diag.message_detail
        return (f"{message} ({detail})" if detail else message), hint

    def is_unavailable(self, error: Exception) -> bool:
        if not isinstance(error, psycopg.OperationalError):
            return False
        refused = ("authentication", "does not exist", "no pg_hba", "permission denied", "not permitted")
        if error.sqlstate is None:
            return not any(word in str(error) for word in refused)
        return bool(error.sqlstate.startswith(("08", "57P")))


class _Session:
    """A connection of psycopg."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        cursor = self._connection.execute(statement, values or None)
        return max(int(cursor.rowcount), 0)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(query, values or None).fetchall())

    def load(self, stage: str, columns: Mapping[str, str], attempt: int, lines: Iterable[bytes]) -> None:
        names = ", ".join(map(_quote, columns))
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute("SELECT set_config('headrace.attempt', %s, true)", (str(attempt),))
            with cursor.copy(f"COPY {_quote(stage)} ({SEQUENCE}, {names}) FROM STDIN") as copy:
                for part in lines:
                    copy.write(part)

    def close(self) -> None:
        self._connection.close()


def _refusal(error: Exception) -> str:
    """Return the server's message when it refused a connection; empty if it sent none."""
    return str(error).partition("FATAL:")[2]


def _array_literal(texts: Iterable[str]) -> str:
    r"""Return texts as PostgreSQL writes an array; psycopg converts a list item by item, in Python.

    >>> _array_literal(["a", 'b"c', "d\\e"])
    '{"a","b\\"c","d\\\\e"}'
    """
    escaped = (text.replace("\\", r"\\").replace('"', r"\"") for text in texts)
    return '{"' + '","'.join(escaped) + '"}'


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
