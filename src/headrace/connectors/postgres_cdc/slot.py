"""The server's side of following a table: publication, replication slot, the rows that are there, and the log of changes.

The slot is read through ordinary SQL: `peek` reads changes and leaves them there, `advance` lets go of them. So an epoch can
be read again until it is delivered, and nothing depends on a connection that lasts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.postgres.dialect import PostgresDialect, psycopg
from headrace.connectors.postgres_cdc.pgoutput import Decoder, Transaction
from headrace.connectors.sql.dialect import Database, qualified

FETCH = 10_000
"""How many rows of the first ones are fetched at a time."""
_IN_USE = "55006"


@dataclass(frozen=True)
class Followed:
    """A table that is followed, and all that reading its changes needs; it holds no connection."""

    source: str
    url: str = field(repr=False)
    schema: str
    table: str
    slot: str
    publication: str
    columns: tuple[tuple[str, bool], ...]
    """What is read, and whether it is bytes."""
    key: tuple[str, ...]
    """The primary key."""
    snapshot: bool
    before: bool
    skip_truncate: bool
    every: float
    most: int
    patience: float
    directory: str

    @property
    def dialect(self) -> SlotDialect:
        return SlotDialect(self.url)

    @property
    def target(self) -> str:
        """The table as SQL names it."""
        return qualified(self.dialect, f"{self.schema}.{self.table}")


class SlotDialect(PostgresDialect):
    """PostgreSQL's dialect, with what goes wrong with slots."""

    def told(self, error: Exception) -> tuple[str, str] | None:
        told = super().told(error)
        if told is None or not isinstance(error, psycopg.Error):
            return None
        said = told[0]
        hints = {
            "42501": "ALTER ROLE ... REPLICATION; and the table's owner makes the publication",
            "42704": "its changes can't be known any more: remove the pipeline's directory to begin again with a snapshot",
            "55000": "its changes can't be known any more: drop it, and remove the pipeline's directory to begin again "
            "with a snapshot",
            "53400": "drop a slot that nobody reads, or raise max_replication_slots (or max_wal_senders) on the server",
        }
        if "wal_level" in said:
            return said, "ALTER SYSTEM SET wal_level = logical, and restart the server"
        return said, hints.get(error.sqlstate or "", told[1])

    def lost(self, error: Exception) -> bool:
        # The session of a run that was killed may live on for a moment.
        return super().lost(error) or getattr(error, "sqlstate", None) == _IN_USE


@dataclass(frozen=True)
class SlotState:
    """What the server says of a slot."""

    confirmed: int
    usable: bool


def state_of(database: Database, slot: str) -> SlotState | None:
    """The slot of that name, if there is one."""
    query = (
        "SELECT coalesce(confirmed_flush_lsn, '0/0') - '0/0', coalesce(wal_status, '') FROM pg_replication_slots"
        " WHERE slot_name = %s"
    )
    found = database.rows(query, (slot,))
    return SlotState(int(found[0][0]), found[0][1] != "lost") if found else None


def publish(database: Database, followed: Followed) -> None:
    """Make the publication, or see that the one that is there has the table.

    Raises:
        LookupError: it hasn't.
    """
    name = followed.dialect.quoted(followed.publication)
    if not database.rows("SELECT 1 FROM pg_publication WHERE pubname = %s", (followed.publication,)):
        root = ", publish_via_partition_root = true" if _version(database) >= 130000 else ""
        database.execute(
            f"CREATE PUBLICATION {name} FOR TABLE {followed.target}"
            f" WITH (publish = 'insert, update, delete, truncate'{root})"
        )
    query = "SELECT 1 FROM pg_publication_tables WHERE (pubname, schemaname, tablename) = (%s, %s, %s)"
    if not database.rows(query, (followed.publication, followed.schema, followed.table)):
        raise LookupError(f"ALTER PUBLICATION {name} ADD TABLE {followed.target}")


def create(database: Database, slot: str) -> int:
    """Make a slot that begins now, and return the position."""
    query = "SELECT lsn - '0/0' FROM pg_create_logical_replication_slot(%s, 'pgoutput')"
    return int(database.rows(query, (slot,))[0][0])


@contextmanager
def created_with_rows(followed: Followed) -> Iterator[tuple[int, Iterator[list[tuple[Any, ...]]]]]:
    """Make a slot; its position, and the rows of the table as they were exactly there, as text, inside the block."""
    connection = psycopg.connect(
        followed.url, autocommit=True, replication="database", connect_timeout=10, options="-c timezone=UTC"
    )
    with closing(connection):
        connection.execute("BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ")
        made = connection.execute(f'CREATE_REPLICATION_SLOT "{followed.slot}" LOGICAL pgoutput USE_SNAPSHOT')
        yield number_of(made.fetchone()[1]), _rows(connection, followed)


def current(database: Database) -> int:
    """How far the server's log goes."""
    return int(database.rows("SELECT pg_current_wal_flush_lsn() - '0/0'")[0][0])


def peek(database: Database, followed: Followed, until: int | None, most: int | None) -> list[Transaction]:
    """The transactions behind the slot's position: those that committed up to a place, about so many changes."""
    query = (
        "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, %s::int, 'proto_version', '1',"
        " 'publication_names', %s)"
    )
    place = None if until is None else text_of(until)
    found = database.rows(query, (followed.slot, place, most, followed.dialect.quoted(followed.publication)))
    return list(Decoder((followed.schema, followed.table)).transactions(row[0] for row in found))


def advance(database: Database, slot: str, position: int) -> None:
    """Let the server forget what lies before the position; does nothing if it has."""
    query = (
        "SELECT pg_replication_slot_advance(slot_name, %s::pg_lsn) FROM pg_replication_slots"
        " WHERE slot_name = %s AND confirmed_flush_lsn < %s::pg_lsn"
    )
    place = text_of(position)
    database.rows(query, (place, slot, place))


def drop(database: Database, slot: str) -> None:
    """Drop a slot, if it is there."""
    query = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s"
    database.rows(query, (slot,))


def text_of(position: int) -> str:
    """A position as the server writes it.

    >>> text_of(0x16B374D48)
    '1/6B374D48'
    """
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"


def number_of(position: str) -> int:
    """A position as a number, which sorts.

    >>> number_of("1/6B374D48") == 0x16B374D48
    True
    """
    high, low = position.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def _rows(connection: Any, followed: Followed) -> Iterator[list[tuple[Any, ...]]]:
    texts = ", ".join(followed.dialect.as_text(name, binary) for name, binary in followed.columns)
    connection.execute(f"DECLARE present NO SCROLL CURSOR FOR SELECT {texts} FROM {followed.target}")
    while rows := connection.execute(f"FETCH {FETCH} FROM present").fetchall():
        yield rows
    connection.execute("COMMIT")


def _version(database: Database) -> int:
    return int(database.rows("SHOW server_version_num")[0][0])
