"""A simulated database server: transactions that read committed rows and lock the rows they write.

It runs the statements of `headrace.connectors.sql`, found by their form. `SimulatedDialect` is a dialect
like those of PostgreSQL and MySQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.connectors.sql.dialect import ATTEMPT, FENCING, LEDGER, STAGING, Dialect
from headrace.connectors.sql.staging import ServerStaging, StagedTable
from headrace.connectors.sql.table import Table
from tests.simulation.spark import Frame
from tests.simulation.world import Process, active

Row = dict[str, Any]
Write = Callable[[dict[str, list[Row]]], None]


class ServerError(Exception):
    """An error that the server returns."""


class LostConnectionError(ServerError):
    """The connection to the server is lost."""


class Server:
    """Tables, and the transactions on them."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Row]] = {}
        self.sessions: list[ServerSession] = []
        self.on_commit: Callable[[], None] = lambda: None

    def lose_connections(self, process: Process) -> None:
        """Close the connections of a process; their transactions are rolled back."""
        for session in [each for each in self.sessions if each.process is process]:
            session.lose()

    def restart(self) -> None:
        """Restart after a crash: transactions are rolled back, and unlogged staging tables are empty."""
        for session in tuple(self.sessions):
            session.lose()
        for name in self.tables:
            if name.startswith(STAGING):
                self.tables[name] = []


@dataclass
class _Transaction:
    writes: list[Write] = field(default_factory=list)
    locks: set[tuple[Any, ...]] = field(default_factory=set)


class ServerSession:
    """A connection in autocommit mode."""

    def __init__(self, server: Server, process: Process | None) -> None:
        self._server, self.process = server, process
        self._transaction: _Transaction | None = None
        self._is_lost = False
        server.sessions.append(self)
        if process is not None:
            process.on_end.append(self.lose)

    def lose(self) -> None:
        """Lose the connection; the server rolls the transaction back."""
        self._is_lost, self._transaction = True, None
        if self in self._server.sessions:
            self._server.sessions.remove(self)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        verb, _, rest = statement.partition(" ")
        self._step(f"database.{verb.lower()}")
        if verb == "BEGIN":
            self._transaction = _Transaction()
        elif verb == "COMMIT":
            self._commit()
        elif verb == "ROLLBACK":
            self._transaction = None
        elif verb not in ("SET", "RESET"):
            return self._autocommit(lambda: getattr(self, f"_{verb.lower()}")(rest, values))
        return 0

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self._step("database.select")
        return self._select(query, values)

    def load(self, stage: str, columns: Mapping[str, str], attempt: int, lines: Iterable[bytes]) -> None:
        raise NotImplementedError("the simulated tasks load rows, not text")

    def load_rows(self, stage: str, attempt: int, rows: Iterable[Row]) -> None:
        """Load the rows of a task attempt into a staging table."""
        self._step("database.load")
        self._table(stage).extend({ATTEMPT: attempt, **row} for row in rows)

    def close(self) -> None:
        self.lose()

    def _step(self, point: str) -> None:
        active().step(point)
        if self._is_lost:
            raise LostConnectionError("the connection is lost")

    def _autocommit(self, run: Callable[[], int]) -> int:
        """Run a statement in the open transaction, or in one of its own."""
        if self._transaction is not None:
            return run()
        self._transaction = _Transaction()
        try:
            changed = run()
            self._apply()
        finally:
            self._transaction = None
        return changed

    def _commit(self) -> None:
        self._apply()
        self._transaction = None
        self._server.on_commit()
        self._step("database.committed")  # the reply may be lost

    def _apply(self) -> None:
        if self._transaction is not None:
            for write in self._transaction.writes:
                write(self._server.tables)

    def _lock(self, *row: Any) -> None:
        """Lock a row until the transaction ends; wait for one that has locked it."""
        if self._transaction is None:
            return
        if self._is_locked(row):
            active().wait_for(lambda: self._is_lost or not self._is_locked(row), None)
        self._step("database.lock")
        if self._is_locked(row):  # another session was faster
            self._lock(*row)
        elif self._transaction is not None:
            self._transaction.locks.add(row)

    def _is_locked(self, row: tuple[Any, ...]) -> bool:
        return any(
            each is not self and each._transaction is not None and row in each._transaction.locks
            for each in self._server.sessions
        )

    def _table(self, name: str) -> list[Row]:
        if name not in self._server.tables:
            raise ServerError(f"the table {name} does not exist")
        return self._server.tables[name]

    def _visible(self, name: str) -> list[Row]:
        """Return the committed rows of a table with the changes of this transaction."""
        self._table(name)
        if self._transaction is None or not self._transaction.writes:
            return self._server.tables[name]
        tables = {each: list(rows) for each, rows in self._server.tables.items()}
        for write in self._transaction.writes:
            write(tables)
        return tables[name]

    def _write(self, write: Write) -> None:
        if self._transaction is not None:
            self._transaction.writes.append(write)

    def _select(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        if query.startswith("SELECT count(*)"):
            return [(len(self._staged_rows(query)), 0)]
        column, name = _match(r"SELECT (\w+) FROM (\w+)", query)
        key = _key(name, values)
        if query.endswith("FOR UPDATE") and any(_key_of(name, row) == key for row in self._visible(name)):
            self._lock(name, key)
        return [(row[column],) for row in self._visible(name) if _key_of(name, row) == key]

    def _staged_rows(self, query: str) -> list[Row]:
        stage, attempts = _match(rf"FROM `({STAGING}\w+)` WHERE {ATTEMPT} IN \(([\d, ]+)\)", query)
        accepted = {int(each) for each in attempts.split(",")}
        rows = [row for row in self._table(stage) if row[ATTEMPT] in accepted]
        return [{name: value for name, value in row.items() if name != ATTEMPT} for row in rows]

    def _create(self, rest: str, values: Sequence[Any]) -> int:
        [name] = _match(r"TABLE IF NOT EXISTS `?(\w+)", rest)
        self._server.tables.setdefault(name, [])
        return 0

    def _drop(self, rest: str, values: Sequence[Any]) -> int:
        [name] = _match(r"TABLE IF EXISTS `(\w+)`", rest)
        self._server.tables.pop(name, None)
        return 0

    def _truncate(self, rest: str, values: Sequence[Any]) -> int:
        [name] = _match(r"TABLE `(\w+)`", rest)
        self._table(name).clear()
        return 0

    def _update(self, rest: str, values: Sequence[Any]) -> int:
        [name] = _match(r"(\w+) SET token", rest)
        token, key = values[0], _key(name, values[1:])
        if not any(_key_of(name, row) == key for row in self._visible(name)):
            return 0
        self._lock(name, key)

        def update(tables: dict[str, list[Row]]) -> None:
            tables[name] = [
                row | ({"token": token} if _key_of(name, row) == key else {}) for row in tables[name]
            ]

        self._write(update)
        return 1

    def _delete(self, rest: str, values: Sequence[Any]) -> int:
        [name] = _match(r"FROM `?(\w+)", rest)
        key = _key(name, values)
        if name == LEDGER:
            self._lock(name, key)

        def delete(tables: dict[str, list[Row]]) -> None:
            tables[name] = [row for row in tables[name] if name == LEDGER and _key_of(name, row) != key]

        self._write(delete)
        return 0

    def _insert(self, rest: str, values: Sequence[Any]) -> int:
        [name] = _match(r"INTO `?(\w+)", rest)
        if name in (FENCING, LEDGER):
            [columns] = _match(r"\(([\w, ]+)\)", rest)
            row = dict(zip(columns.split(", "), values, strict=True))
            key = _key_of(name, row)
            self._lock(name, key)
            if any(_key_of(name, other) == key for other in self._visible(name)):
                raise ServerError(f"duplicate key in {name}")
            rows = [row]
        else:
            rows = self._staged_rows(rest)
        self._write(lambda tables: tables[name].extend(rows))
        return len(rows)

    def _upsert(self, rest: str, values: Sequence[Any]) -> int:
        name, key = _match(r"INTO `(\w+)` KEY (\w+)", rest)
        rows = self._staged_rows(rest)
        for row in rows:
            self._lock(name, row[key])

        def upsert(tables: dict[str, list[Row]]) -> None:
            newest = {row[key]: row for row in (*tables[name], *sorted(rows, key=lambda row: row["id"]))}
            tables[name] = list(newest.values())

        self._write(upsert)
        return len(rows)


@dataclass(frozen=True)
class SimulatedDialect(Dialect):
    """The dialect of the simulated server, as the connections of one process."""

    server: Server = field(repr=False)
    kind: ClassVar[str] = "simulated"
    ledger_time_type: ClassVar[str] = "timestamp"
    short_lock_wait: ClassVar[tuple[str, str]] = ("SET lock_timeout", "RESET lock_timeout")

    @property
    def address(self) -> str:
        return "simulated:5432/db"

    def connect(self) -> ServerSession:
        active().step("database.connect")
        thread = active().current
        return ServerSession(self.server, thread.process if thread is not None else None)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        return (str(error), "") if isinstance(error, ServerError) else None

    def is_unavailable(self, error: Exception) -> bool:
        return isinstance(error, LostConnectionError)

    def quote(self, name: str) -> str:
        return f"`{name}`"

    def tables(self, session: Any) -> list[str]:
        return list(self.server.tables)

    def columns(self, session: Any, table: str) -> dict[str, tuple[str, bool]]:
        return {"id": ("bigint", False), "key": ("bigint", False)} if table in self.server.tables else {}

    def has_unique_key(self, session: Any, table: str, key: Sequence[str]) -> bool:
        return True

    def spark_type(self, declared: str) -> str:
        return declared

    def as_text(self, name: str, declared: str | None = None) -> str:
        return name

    def column_type(self, kind: str, in_key: bool) -> str:
        return kind

    def accepts(self, kind: str, declared: str) -> bool:
        return kind == declared

    def create_stage(self, table: Table, stage: str) -> str:
        return f"CREATE TABLE IF NOT EXISTS `{stage}`"

    def upsert(self, table: Table, staged: str, *, null_keys: bool) -> list[str]:
        return [f"UPSERT INTO `{table.name}` KEY {table.key[0]} {staged}"]


class SimulatedStaging(ServerStaging):
    """Stages on the server as the tasks of Spark do: an attempt that fails leaves its rows."""

    def __init__(self, dialect: SimulatedDialect, retry_timeout: float) -> None:
        super().__init__(dialect, retry_timeout)
        self._server_dialect = dialect

    def load(self, frame: Any, table: Table) -> StagedTable:
        attempts = []
        rows: list[Row] = frame.rows if isinstance(frame, Frame) else []
        for part in (rows[::2], rows[1::2]):
            if not part:
                continue
            for accepted in (False, True) if active().random.random() < 0.1 else (True,):
                attempt = active().random.getrandbits(30)
                session = self._server_dialect.connect()
                session.load_rows(self._stage, attempt, part)
                session.close()
                if accepted:
                    attempts.append(attempt)
        return StagedTable(table, len(rows), tuple(attempts))


def _match(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    if match is None:
        raise ServerError(f"the simulated server does not know the statement {text}")
    return match.groups()


def _key(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(values[: 2 if name == FENCING else 3])


def _key_of(name: str, row: Row) -> tuple[Any, ...]:
    names = ("pipeline", "sink") if name == FENCING else ("pipeline", "sink", "checkpoint_id")
    return tuple(row.get(each) for each in names)
