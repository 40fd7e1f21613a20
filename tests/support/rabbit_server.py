"""A private RabbitMQ node for tests: own ports, data, cookie and name service."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pika
import pytest

from headrace.devtools.ports import free_ports
from tests.support.waiting import TIMEOUT

_PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The script itself: the one in /usr/sbin changes the user and drops the environment."""


@dataclass
class RabbitServer:
    """A node that can be killed and started again with its data."""

    directory: Path
    ports: list[int] = field(default_factory=lambda: free_ports(3))
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.ports[0]}/"

    def start(self) -> None:
        if not _PROGRAM.exists() or shutil.which("epmd") is None:
            pytest.skip("RabbitMQ is not installed: apt-get install rabbitmq-server")
        with (self.directory / "output.txt").open("ab") as output:
            self.process = subprocess.Popen(
                [str(_PROGRAM)], stdout=output, stderr=output, env=self._environment(), start_new_session=True
            )
        deadline = time.monotonic() + TIMEOUT
        while not self._answers():
            assert self.process.poll() is None, (self.directory / "output.txt").read_text()[-2000:]
            assert time.monotonic() < deadline, "RabbitMQ does not answer"
            time.sleep(0.2)

    def kill(self) -> None:
        """End the node at once; durable queues and persistent messages remain."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def stop(self) -> None:
        self.kill()
        # The name service is a daemon in a session of its own; it ends only when no node is registered.
        command, environment = ["epmd", "-kill"], self._environment()
        for _ in range(50):
            done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
            if "Killed" in done.stdout or "Cannot connect" in done.stdout + done.stderr:
                return
            time.sleep(0.1)

    def channel(self) -> Any:
        """Return a channel with publisher confirms, which may be idle for as long as a test needs."""
        channel = pika.BlockingConnection(pika.URLParameters(f"{self.url}?heartbeat=0")).channel()
        channel.confirm_delivery()
        return channel

    def _answers(self) -> bool:
        with suppress(Exception):  # refused, or not ready for logins yet
            self.channel().connection.close()
            return True
        return False

    def _environment(self) -> dict[str, str]:
        place, (port, distribution, names) = self.directory, self.ports
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": f"tests{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "ERL_EPMD_PORT": str(names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(place / "mnesia"),
            "RABBITMQ_LOG_BASE": str(place / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(place / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(place / "rabbitmq"),
            "RABBITMQ_PID_FILE": str(place / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1",
        }
