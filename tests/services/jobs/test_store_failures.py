"""A store that is locked, full, away or in use, and the modes of its files."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from headrace.devtools.ports import free_ports
from headrace.errors import OptionError
from headrace.jobs.app import create_app
from headrace.jobs.security.policy import Policy
from headrace.jobs.security.principals import PrincipalStore, Role
from headrace.jobs.service import JobService
from headrace.jobs.store import database as databases
from headrace.jobs.store.database import Database, StoreError
from tests.services.jobs.conftest import DOCUMENT, kill_all
from tests.support.fake_service import COMMAND
from tests.support.http_server import serving
from tests.support.servers import Server, small_disk
from tests.support.waiting import wait_until

PASSWORD = "a long password"


@contextmanager
def served(data: Path, store: str | None = None, policy: Policy | None = None) -> Iterator[httpx.Client]:
    service = JobService(data, command=COMMAND, store=store, period=0.05, policy=policy)
    PrincipalStore(service.database).add_user("ada", PASSWORD, Role.ADMIN)
    with closing(service), serving(create_app(service)) as url, httpx.Client(base_url=url) as client:
        client.timeout = httpx.Timeout(60)
        yield client
        kill_all(service)


def log_in(client: httpx.Client) -> httpx.Response:
    return client.post("/api/v1/login", json={"user": "ada", "password": PASSWORD})


def submit(client: httpx.Client) -> httpx.Response:
    return client.post("/api/v1/jobs", json={"document": DOCUMENT})


def failures(client: httpx.Client, job: str, data: Path) -> set[tuple[int, str]]:
    """The responses to a submission, a kill and a login; none of them leaves anything."""
    directories = set((data / "jobs").iterdir())
    answers = [submit(client), client.post(f"/api/v1/jobs/{job}/kill"), log_in(client)]
    assert set((data / "jobs").iterdir()) == directories
    return {(answer.status_code, answer.json()["detail"].partition("\n")[0]) for answer in answers}


def test_a_locked_store_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "LOCK_SECONDS", 0.2)
    with served(tmp_path) as client:
        job = submit(client).json()["id"]
        with closing(sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answer = (503, "store: the store is locked by another process")
            assert failures(client, job, tmp_path) == {answer}
        assert submit(client).status_code == 201
        assert log_in(client).status_code == 200


def test_a_full_disk_is_insufficient_storage() -> None:
    with small_disk(8) as data, served(data) as client:
        job = submit(client).json()["id"]
        filler = data / "filler"
        with filler.open("wb") as file:
            for size in (1 << 16, 1):
                try:
                    while True:
                        os.write(file.fileno(), bytes(size))
                except OSError:
                    continue
        details = {"store: the disk of the store is full", "store: the disk of the service is full"}
        wait_until(lambda: submit(client).status_code == 507)
        for status, detail in failures(client, job, data):
            assert status == 507
            assert detail in details
        filler.unlink()
        wait_until(lambda: submit(client).status_code == 201)
        assert client.post(f"/api/v1/jobs/{job}/kill").status_code == 200
        assert log_in(client).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer hr_unknown"}])
def test_a_store_that_is_away_is_unavailable_without_its_address(
    tmp_path: Path, servers: Callable[[str], Server], headers: dict[str, str]
) -> None:
    server = servers("postgres")
    with served(tmp_path, server.url, Policy(login=True)) as client:
        assert client.get("/api/v1/health").status_code == 200
        server.stop()
        try:
            wait_until(lambda: client.get("/api/v1/health").status_code == 503)  # its processes are ending
            answer = client.get("/api/v1/health", headers=headers)
            assert answer.status_code == 503
            assert "the store cannot be reached" in answer.json()["detail"]
            for word in ("127.0.0.1", str(server.port), "headrace@", "streams", "postgres"):
                assert word not in answer.text
            assert log_in(client).status_code == 503
            page = client.get("/jobs/0123456789ab", headers={"cookie": "headrace_session=x"})
            assert page.status_code == 503
        finally:
            server.start()
        wait_until(lambda: client.get("/api/v1/health").status_code == 200)
        assert log_in(client).status_code == 200


def test_a_statement_waits_a_limited_time_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "BUSY_SECONDS", 0.1)
    with closing(Database(str(tmp_path / "jobs.db"))) as database:
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            with database.transaction():
                held.set()
                release.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(60)
        with pytest.raises(StoreError, match="the store is busy"):
            database.rows("SELECT 1 AS n")
        release.set()
        thread.join()
        assert database.rows("SELECT 1 AS n") == [{"n": 1}]


def test_a_transaction_that_cannot_commit_leaves_the_store_usable(tmp_path: Path) -> None:
    with closing(Database(str(tmp_path / "jobs.db"))) as database:
        database.execute("CREATE TABLE t (a TEXT)")
        [row] = database.rows("PRAGMA page_count")
        database.rows(f"PRAGMA max_page_count = {row['page_count']}")
        with pytest.raises(StoreError, match="the disk of the store is full"), database.transaction():
            database.execute("INSERT INTO t VALUES (?)", ("x" * 1_000_000,))
        database.rows("PRAGMA max_page_count = 100000")
        with database.transaction():
            database.execute("INSERT INTO t VALUES ('y')")
        assert database.rows("SELECT a FROM t") == [{"a": "y"}]


def test_one_service_uses_a_store(tmp_path: Path, servers: Callable[[str], Server]) -> None:
    for store in (servers("postgres").url, str(tmp_path / "shared.db")):
        first = JobService(tmp_path / "first", store=store, command=COMMAND)
        with pytest.raises(OptionError, match="another job service uses the store") as caught:
            JobService(tmp_path / "second", store=store, command=COMMAND)
        assert "choose another --store" in str(caught.value)
        assert "let%20me" not in str(caught.value)
        first.close()
        JobService(tmp_path / "second", store=store, command=COMMAND).close()


@pytest.fixture
def holder(servers: Callable[[str], Server]) -> Iterator[Database]:
    database = Database(servers("postgres").url)
    database.claim()
    yield database
    database.close()


def end_session(database: Database, url: str) -> None:
    """End the session of a database on the server."""
    [row] = database.rows("SELECT pg_backend_pid() AS pid")
    with closing(Database(url)) as other:
        other.rows("SELECT pg_terminate_backend(?, 10000)", (row["pid"],))


def test_a_service_claims_its_store_again_after_the_connection_was_lost(
    holder: Database, servers: Callable[[str], Server]
) -> None:
    url = servers("postgres").url
    end_session(holder, url)
    assert holder.rows("SELECT 1 AS n") == [{"n": 1}]
    with closing(Database(url)) as other, pytest.raises(OptionError, match="another job service"):
        other.claim()


def test_a_service_whose_store_was_taken_meanwhile_does_nothing(
    holder: Database, servers: Callable[[str], Server]
) -> None:
    url = servers("postgres").url
    end_session(holder, url)
    with closing(Database(url)) as other:
        other.claim()
        with pytest.raises(StoreError, match="another job service uses the store"):
            holder.rows("SELECT 1 AS n")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_of_a_service_are_readable_by_its_user_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "jobs").mkdir(parents=True, mode=0o755)
    for place in (data, data / "jobs"):
        place.chmod(0o755)
    with closing(sqlite3.connect(data / "jobs.db")) as store:  # as an earlier version made it
        store.execute("PRAGMA journal_mode=WAL")
    (data / "jobs.db").chmod(0o644)
    environment = os.environ | {"HEADRACE_PASSWORD": PASSWORD}
    command = [sys.executable, "-m", "headrace.cli.app"]
    users = [*command, "users", "add", "ada", "--data", str(data)]
    subprocess.run(users, check=True, env=environment, umask=0o022, capture_output=True)
    assert mode(data / "jobs.db") == 0o600
    port = free_ports(1)[0]
    process = subprocess.Popen(
        [*command, "serve", "--port", str(port), "--data", str(data)],
        umask=0o022,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        lines: list[str] = []
        while not lines or not lines[-1].startswith("jobs:"):
            lines.append(process.stderr.readline())
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_until(lambda: answers(client))
            job = submit(client).json()["id"]
            client.post(f"/api/v1/jobs/{job}/kill")
        files = [path for path in data.rglob("*") if path.exists()]
        assert {path.name for path in files} >= {"jobs.db", "jobs.db-wal", "pipeline.yaml", "job.json"}
        assert [str(path) for path in files if mode(path) & 0o077] == []
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()  # type: ignore[union-attr]
    warning = f"warning: other users of this machine can list {data}: chmod 700 {data}\n"
    assert warning in lines
    root = "warning: the service and its jobs run as root: use a user with few rights\n"
    assert (root in lines) == (os.geteuid() == 0)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/api/v1/health").status_code == 200
    except httpx.TransportError:
        return False


def test_the_umask_of_a_command_does_not_outlive_it(tmp_path: Path) -> None:
    from headrace.jobs.security.files import private_files

    before = os.umask(0o022)
    try:
        with private_files():
            (tmp_path / "inside").touch()
        (tmp_path / "outside").touch()
    finally:
        os.umask(before)
    assert (mode(tmp_path / "inside"), mode(tmp_path / "outside")) == (0o600, 0o644)
