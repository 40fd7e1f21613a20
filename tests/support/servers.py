"""Database servers of the tests' own: started on a free port, in a directory that goes when they end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from headrace.devtools.ports import free_ports

USER, PASSWORD = "headrace", "let me in: @/?"
QUOTED = "let%20me%20in%3A%20%40%2F%3F"
DATABASE = "streams"
CROWDED = "crowded"
"""A database that a test may make."""
WAIT = 300.0
_LINGERING = ("pre-existing shared memory block", "Address already in use")
"""Errors of servers while processes of a killed one are still ending."""


def free_port() -> int:
    return free_ports(1)[0]


def program(name: str, package: str, *places: str) -> str:
    """Return the path of a server program, or skip the test with the package to install."""
    actual = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", *places]))
    if actual is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")
    return actual


def unprivileged(user: str) -> tuple[list[str], int | None]:
    """Return the options to run a server that refuses to run as root.

    The words before its command, and the owner of its files.
    """
    if os.geteuid() != 0:
        return [], None
    return ["runuser", "-u", user, "--"], pwd.getpwnam(user).pw_uid


@dataclass
class Server:
    """A server in a directory; `start` and `stop` may be called again and again."""

    directory: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    kind: str = ""
    scheme: str = ""

    @property
    def url(self) -> str:
        return f"{self.scheme}://{USER}:{QUOTED}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self) -> None:
        deadline = time.monotonic() + WAIT
        self._spawn()
        while not self.answers():
            message = (self.directory / "server.log").read_text()[-3000:]
            ended = self.process is not None and self.process.poll() is not None
            lingering = any(words in message[-1000:] for words in _LINGERING)
            if (ended and not lingering) or time.monotonic() > deadline:
                raise RuntimeError(message)
            if ended:
                self._spawn()
            time.sleep(0.1)

    def _spawn(self) -> None:
        with (self.directory / "server.log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, start_new_session=True)

    def stop(self) -> None:
        """Kill the server at once, like a power failure."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def connect(self, database: str = DATABASE) -> Any:
        raise NotImplementedError

    def answers(self) -> bool:
        try:
            self.connect().close()
        except Exception:  # not ready yet
            return False
        return True

    def sql(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(text, values or None)
            return list(cursor.fetchall()) if cursor.description else []


@dataclass
class PostgresServer(Server):
    kind: str = "postgres"
    scheme: str = "postgresql"
    wal_level: str = "logical"

    def __post_init__(self) -> None:
        self.bin = str(Path(program("postgres", "postgresql", *_postgres_places())).parent)
        self.words, owner = unprivileged("postgres")
        secret = self.directory / "secret"
        secret.write_text(PASSWORD)
        data = self.directory / "data"
        data.mkdir()
        if owner is not None:
            for path in (self.directory, secret, data):
                os.chown(path, owner, -1)
        _run(
            [
                *(*self.words, f"{self.bin}/initdb", "-D", str(data), "-U", USER, "-A", "scram-sha-256"),
                *("--pwfile", str(secret), "-E", "UTF8", "--no-sync"),
            ]
        )
        self.start()
        with closing(self.connect("postgres")) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")

    def command(self) -> list[str]:
        (self.directory / "data" / "postmaster.pid").unlink(missing_ok=True)
        settings = {"unix_socket_directories": "", "listen_addresses": "127.0.0.1", "fsync": "off"}
        settings |= {"wal_level": self.wal_level}
        pairs = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [
            *self.words,
            f"{self.bin}/postgres",
            *("-D", str(self.directory / "data"), "-p", str(self.port)),
            *pairs,
        ]

    def connect(self, database: str = DATABASE) -> Any:
        import psycopg

        url = urlsplit(self.url)._replace(path=f"/{database}").geturl()
        return psycopg.connect(url, autocommit=True, connect_timeout=30)

    def answers(self) -> bool:
        import psycopg

        try:
            self.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True


@dataclass
class MariaDBServer(Server):
    kind: str = "mysql"
    scheme: str = "mysql"

    def __post_init__(self) -> None:
        self.daemon = program("mariadbd", "mariadb-server")
        self.words, owner = unprivileged("mysql")
        data = self.directory / "data"
        data.mkdir()
        if owner is not None:
            for path in (self.directory, data):
                os.chown(path, owner, -1)
        install = program("mariadb-install-db", "mariadb-server")
        _run(
            [
                *self.words,
                install,
                "--no-defaults",
                f"--datadir={data}",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ]
        )
        self.start()
        import pymysql

        with closing(pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True)) as root:
            cursor = root.cursor()
            cursor.execute(f"CREATE DATABASE {DATABASE}")
            cursor.execute(f"CREATE USER {USER}@'%%' IDENTIFIED BY %s", (PASSWORD,))
            for name in (DATABASE, CROWDED):
                cursor.execute(f"GRANT ALL ON {name}.* TO {USER}@'%'")

    def command(self) -> list[str]:
        return [
            *self.words,
            self.daemon,
            "--no-defaults",
            *(f"--datadir={self.directory / 'data'}", f"--port={self.port}", "--bind-address=127.0.0.1"),
            *(f"--socket={self.directory / 'socket'}", f"--pid-file={self.directory / 'pid'}"),
            # 2: what is committed outlives the process, though not the machine.
            *("--innodb-flush-log-at-trx-commit=2", "--skip-name-resolve", "--innodb-buffer-pool-size=64M"),
        ]

    def connect(self, database: str = DATABASE) -> Any:
        import pymysql

        address: dict[str, Any] = {"host": "127.0.0.1", "port": self.port, "connect_timeout": 30}
        return pymysql.connect(**address, user=USER, password=PASSWORD, database=database, autocommit=True)

    def answers(self) -> bool:
        import pymysql

        try:
            pymysql.connect(host="127.0.0.1", port=self.port, user="root").close()
        except pymysql.OperationalError:
            return False
        return True


KINDS = {server.kind: server for server in (MariaDBServer, PostgresServer)}


@contextmanager
def started(kind: str) -> Iterator[Server]:
    """A server of a kind, for as long as the block lasts."""
    # Not below pytest's directory, which a server that is not root's cannot enter.
    place = Path(tempfile.mkdtemp(prefix=f"headrace-{kind}-"))
    try:
        server = KINDS[kind](place)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A directory on a disk of its own that is soon full; anybody may write there."""
    place = Path(tempfile.mkdtemp(prefix="headrace-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "headrace", str(place)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        place.rmdir()
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
        place.rmdir()


def _postgres_places() -> list[str]:
    return sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd="/")
