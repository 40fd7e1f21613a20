"""The server's side of CDC: publication, replication slot, snapshot, and the log of changes.

The slot is read through SQL functions: `peek` reads changes without consuming them, `advance` discards them.
So an epoch can be read again until it is delivered, and no connection has to stay open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.postgres.dialect import PostgresDialect, psycopg
from headrace.connectors.postgres_cdc.pgoutput import Decoder, Transaction
from headrace.connectors.sql.dialect import Session

if TYPE_CHECKING:
    from headrace.connectors.postgres_cdc.replicated_table import ReplicatedTable

FETCH_ROWS = 10_000
"""Rows of the snapshot per fetch."""
_IN_USE = "55006"


class SlotDialect(PostgresDialect):
    """PostgreSQL's dialect, with the errors of replication slots."""

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        translation = super().translate_error(error)
        if translation is None or not isinstance(error, psycopg.Error):
            return None
        message, hint = translation
        hints = {
            "42501": "ALTER ROLE ... REPLICATION; and let the table's owner create the publication",
            "42704": "its changes are lost: remove the pipeline's directory to begin again with a snapshot",
            "55000": "its changes are lost: drop it, and remove the pipeline's directory to begin again",
            "53400": "drop an unused slot, or raise max_replication_slots (or max_wal_senders) on the server",
        }
        if "wal_level" in message:
            return message, "ALTER SYSTEM SET wal_level = logical, and restart the server"
        return message, hints.get(error.sqlstate or "", hint)

    def is_unavailable(self, error: Exception) -> bool:
        # The server session of a killed run may still be open.
        return super().is_unavailable(error) or getattr(error, "sqlstate", None) == _IN_USE


@dataclass(frozen=True)
class SlotState:
    """The state of a slot on the server."""

    confirmed: int
    usable: bool


def read_state(session: Session, slot: str) -> SlotState | None:
    """Return the state of a slot; None if it does not exist."""
    query = (
        "SELECT coalesce(confirmed_flush_lsn, '0/0') - '0/0', coalesce(wal_status, '')"
        " FROM pg_replication_slots WHERE slot_name = %s"
    )
    rows = session.rows(query, (slot,))
    return SlotState(int(rows[0][0]), rows[0][1] != "lost") if rows else None


def publish(session: Session, table: ReplicatedTable) -> None:
    """Create the publication, or check that the existing one has the table.

    Raises:
        LookupError: it does not; the text is the statement that adds it.
    """
    name = table.dialect.quote(table.publication)
    if not session.rows("SELECT 1 FROM pg_publication WHERE pubname = %s", (table.publication,)):
        root = ", publish_via_partition_root = true" if _version(session) >= 130000 else ""
        session.execute(
            f"CREATE PUBLICATION {name} FOR TABLE {table.target}"
            f" WITH (publish = 'insert, update, delete, truncate'{root})"
        )
    query = "SELECT 1 FROM pg_publication_tables WHERE (pubname, schemaname, tablename) = (%s, %s, %s)"
    if not session.rows(query, (table.publication, table.schema, table.table)):
        raise LookupError(f"ALTER PUBLICATION {name} ADD TABLE {table.target}")


def create(session: Session, slot: str) -> int:
    """Create a slot that begins now, and return its position."""
    query = "SELECT lsn - '0/0' FROM pg_create_logical_replication_slot(%s, 'pgoutput')"
    return int(session.rows(query, (slot,))[0][0])


@contextmanager
def create_with_snapshot(table: ReplicatedTable) -> Iterator[tuple[int, Iterator[list[tuple[Any, ...]]]]]:
    """Create a slot; yield its position and the rows of the table at exactly that position, as text."""
    connection = psycopg.connect(
        table.options.url,
        autocommit=True,
        replication="database",
        connect_timeout=10,
        options="-c timezone=UTC",
    )
    with closing(connection):
        connection.execute("BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ")
        created = connection.execute(f'CREATE_REPLICATION_SLOT "{table.slot}" LOGICAL pgoutput USE_SNAPSHOT')
        yield parse_lsn(created.fetchone()[1]), _rows(connection, table)


def current(session: Session) -> int:
    """Return the end of the server's log."""
    return int(session.rows("SELECT pg_current_wal_flush_lsn() - '0/0'")[0][0])


def peek(
    session: Session, table: ReplicatedTable, until: int | None, max_rows: int | None
) -> list[Transaction]:
    """Return transactions from the slot's position to `until`, with about `max_rows` changes."""
    query = (
        "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s::int, 'proto_version', '1',"
        " 'publication_names', %s)"
    )
    lsn = None if until is None else format_lsn(until)
    messages = session.rows(query, (table.slot, lsn, max_rows, table.dialect.quote(table.publication)))
    return list(Decoder((table.schema, table.table)).transactions(message for (message,) in messages))


def advance(session: Session, slot: str, position: int) -> None:
    """Advance the slot, so that the server can discard its log before the position; never move it back."""
    query = (
        "SELECT pg_replication_slot_advance(slot_name, %s::pg_lsn) FROM pg_replication_slots"
        " WHERE slot_name = %s AND confirmed_flush_lsn < %s::pg_lsn"
    )
    lsn = format_lsn(position)
    session.rows(query, (lsn, slot, lsn))


def drop(session: Session, slot: str) -> None:
    """Drop a slot, if it exists."""
    query = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s"
    session.rows(query, (slot,))


def format_lsn(position: int) -> str:
    """Return a position as the server writes it.

    >>> format_lsn(0x16B374D48)
    '1/6B374D48'
    """
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def parse_lsn(position: str) -> int:
    """Return a position as a number, which sorts.

    >>> parse_lsn("1/6B374D48") == 0x16B374D48
    True
    """
    high, low = position.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _rows(connection: Any, table: ReplicatedTable) -> Iterator[list[tuple[Any, ...]]]:
    connection.execute(
        f"DECLARE snapshot NO SCROLL CURSOR FOR SELECT {table.select_list} FROM {table.target}"
    )
    while rows := connection.execute(f"FETCH {FETCH_ROWS} FROM snapshot").fetchall():
        yield rows
    connection.execute("COMMIT")


def _version(session: Session) -> int:
    return int(session.rows("SHOW server_version_num")[0][0])
