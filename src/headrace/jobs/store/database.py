"""A connection to SQLite or PostgreSQL, shared by the threads of the service."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from headrace.errors import OptionError, without_passwords
from headrace.jobs.states import JobError

LOCK_SECONDS = 5.0
"""The time that a statement waits for a lock of SQLite, and a new service for the end of the one before."""
BUSY_SECONDS = 10.0
"""The time that a statement waits for those of other threads."""
RETRY_SECONDS = 1.0
"""The time after a failed connection in which statements fail at once."""
LOG_SECONDS = 60.0
"""The time after which the same failure is logged again."""
_POSTGRES = ("postgresql://", "postgres://")
_NETWORK = {
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}
_SERVICE_LOCK = 0x6865616472616365
"""The number of the advisory lock in PostgreSQL."""
_IN_USE = "another job service uses the store"

_log = logging.getLogger("headrace.jobs")


class StoreError(JobError):
    """The store cannot run a statement now. The text is shown to anonymous clients; details are logged."""

    def __init__(self, what: str, *, is_full: bool = False) -> None:
        super().__init__(what, where="store", hint="try again later; the log of the service has the cause")
        self.is_full = is_full

    @property
    def status(self) -> int:
        """The HTTP status: 507 if the disk is full, else 503."""
        return 507 if self.is_full else 503


class Database:
    """Runs statements with `?` placeholders, one at a time."""

    def __init__(self, url: str) -> None:
        """Connect; `url` is the path of a SQLite file or a PostgreSQL URL.

        Raises:
            OptionError: the database cannot be opened.
        """
        self._url = url
        self._postgres = url.startswith(_POSTGRES)
        self._lock = threading.RLock()
        self._depth = 0
        self._claim: IO[str] | bool = False
        self._next_connect = 0.0
        self._logged = ("", 0.0)
        try:
            self._connection = self._connect()
        except Exception as error:
            what = f"cannot open the store: {without_passwords(str(error))}"
            raise OptionError(what, where=without_passwords(self._url), hint="see --store") from None

    def claim(self) -> None:
        """Hold the store for one service until it is closed.

        Raises:
            OptionError: another service holds it.
        """
        deadline = time.monotonic() + LOCK_SECONDS  # a service that was killed may still hold it for a moment
        while not self._try_claim():
            if time.monotonic() > deadline:
                hint = "stop that service, or choose another --store"
                raise OptionError(_IN_USE, where=without_passwords(self._url), hint=hint)
            time.sleep(0.1)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of rows it changed."""
        with self._hold():
            return int(self._run(statement, values).rowcount)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries."""
        with self._hold():
            cursor = self._run(query, values)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit the statements of the block together; a nested block joins the outer one."""
        with self._hold():
            if self._depth == 0:
                self._run("BEGIN" if self._postgres else "BEGIN IMMEDIATE", ())
            self._depth += 1
            try:
                yield
                if self._depth == 1:
                    self._run("COMMIT", ())
            except BaseException:
                if self._depth == 1:
                    self._roll_back()
                raise
            finally:
                self._depth -= 1

    def close(self) -> None:
        """Close the connection and release the store."""
        with self._lock:
            self._connection.close()
            if not isinstance(self._claim, bool):
                self._claim.close()

    def _roll_back(self) -> None:
        if self._postgres or self._connection.in_transaction:  # SQLite ends it itself if the disk is full
            with suppress(StoreError):
                self._run("ROLLBACK", ())

    @contextmanager
    def _hold(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=BUSY_SECONDS):
            raise StoreError("the store is busy")
        try:
            yield
        finally:
            self._lock.release()

    def _run(self, statement: str, values: Sequence[Any]) -> Any:
        try:
            run = self._run_postgres if self._postgres else self._run_sqlite
            return run(statement, values)
        except sqlite3.OperationalError as error:
            raise self._translate(error, is_full="full" in str(error)) from None
        except StoreError:
            raise
        except Exception as error:
            if not _is_operational(error):
                raise
            raise self._translate(error, is_full=getattr(error, "sqlstate", None) == "53100") from None

    def _run_sqlite(self, statement: str, values: Sequence[Any]) -> Any:
        return self._connection.execute(statement, tuple(values))

    def _run_postgres(self, statement: str, values: Sequence[Any]) -> Any:
        if self._connection.closed and self._depth == 0:
            self._reconnect()
        try:
            return self._connection.execute(statement.replace("?", "%s"), tuple(values))
        except Exception:
            repeatable = statement.startswith(("SELECT", "BEGIN"))
            if not (self._connection.closed and self._depth == 0 and repeatable):
                raise
        self._reconnect()  # the server was restarted since the last statement
        return self._connection.execute(statement.replace("?", "%s"), tuple(values))

    def _reconnect(self) -> None:
        if time.monotonic() < self._next_connect:
            raise StoreError("the store cannot be reached")
        try:
            self._connection = self._connect()
        except Exception:
            self._next_connect = time.monotonic() + RETRY_SECONDS
            raise
        if self._claim and not self._try_claim():
            self._connection.close()
            raise StoreError(_IN_USE)

    def _translate(self, error: Exception, *, is_full: bool) -> StoreError:
        cause = without_passwords(str(error)).strip()
        if (cause, time.monotonic() // LOG_SECONDS) != self._logged:
            self._logged = (cause, time.monotonic() // LOG_SECONDS)
            _log.warning("the store failed: %s", cause)
        if is_full:
            return StoreError("the disk of the store is full", is_full=True)
        if not self._postgres and "locked" in cause:
            return StoreError("the store is locked by another process")
        return StoreError("the store cannot be reached")

    def _try_claim(self) -> bool:
        if not self._postgres:
            return self._lock_file()
        # The server notices within a minute if the machine of a service is gone.
        for setting, seconds in (("idle", 30), ("interval", 10), ("count", 3)):
            self._connection.execute(f"SET tcp_keepalives_{setting} = {seconds}")
        [row] = self._connection.execute("SELECT pg_try_advisory_lock(%s)", (_SERVICE_LOCK,)).fetchall()
        self._claim = self._claim or bool(row[0])
        return bool(row[0])

    def _lock_file(self) -> bool:
        file = open(  # noqa: SIM115 - it stays open as long as the claim
            f"{self._url}.lock", "a", opener=lambda path, flags: os.open(path, flags, 0o600)
        )
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._claim = file
        return True

    def _connect(self) -> Any:
        return self._connect_postgres() if self._postgres else self._connect_sqlite()

    def _connect_postgres(self) -> Any:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        defaults = {key: value for key, value in _NETWORK.items() if key not in conninfo_to_dict(self._url)}
        return psycopg.connect(make_conninfo(self._url, **defaults), autocommit=True)

    def _connect_sqlite(self) -> sqlite3.Connection:
        Path(self._url).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _protect(self._url)
        connection = sqlite3.connect(
            self._url, check_same_thread=False, isolation_level=None, timeout=LOCK_SECONDS
        )
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection


def _protect(file: str) -> None:
    """Create a SQLite file that only its owner can read, or make it so; also its -wal and -shm."""
    if not Path(file).exists():
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    for path in (Path(file + suffix) for suffix in ("", "-wal", "-shm")):
        if path.exists() and path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _is_operational(error: Exception) -> bool:
    """True for errors of the connection or the server, not of a statement."""
    if isinstance(error, sqlite3.Error):
        return False
    import psycopg

    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
