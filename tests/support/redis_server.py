"""A Redis server for tests: on a free port, with an append-only file, in a directory of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.servers import WAIT, free_port, program


@dataclass
class RedisProcess:
    """A server that can be killed and started again."""

    directory: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port, decode_responses=True)

    def start(self) -> None:
        command = [program("redis-server", "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += [
            "--dir",
            str(self.directory),
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--save",
            "",
        ]
        with (self.directory / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + WAIT
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.directory / "server.log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        """Kill the server."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def restart(self) -> None:
        """Kill the server and start it again with its data."""
        self.stop()
        self.start()

    def _answers(self) -> bool:
        with self.client() as client:
            try:
                return bool(client.ping())
            except Exception:  # it does not listen yet, or loads its data
                return False


@contextmanager
def running_redis() -> Iterator[RedisProcess]:
    """Run a server for the block."""
    place = Path(tempfile.mkdtemp(prefix="headrace-redis-"))
    server = RedisProcess(place)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(place, ignore_errors=True)
