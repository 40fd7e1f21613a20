"""A local MQTT broker: mosquitto, if it is installed, with its data in one directory."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from headrace.devtools.ports import free_ports
from headrace.errors import SetupError
from headrace.spark.cache import cache_directory

HOST = "127.0.0.1"
PORT = 1883
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0


@dataclass
class Broker:
    """A mosquitto process."""

    directory: Path
    port: int
    tls_port: int = 0
    """The port with TLS, if any."""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The address of the broker."""
        return f"mqtt://{HOST}:{self.port}"

    @property
    def running(self) -> bool:
        """True if the process runs."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start the process and wait until it answers.

        Raises:
            SetupError: it does not start; quotes its log.
        """
        with (self.directory / "mosquitto.log").open("wb") as log:
            self.process = subprocess.Popen(
                [_program(), "-c", str(self.directory / "mosquitto.conf")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is handled by this process
            )
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(self.port):
            if not self.running or time.monotonic() > deadline:
                text = (self.directory / "mosquitto.log").read_text(errors="replace").strip()
                self.kill()
                raise SetupError(f"mosquitto did not start: {text[-500:] or 'no log'}", where="mqtt up")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the process; mosquitto stores its sessions and retained messages."""
        if self.process is not None and self.running:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the process with SIGKILL."""
        if self.process is not None and self.running:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None


def start(
    directory: Path | None = None,
    *,
    port: int = PORT,
    password_file: Path | None = None,
    certificate: tuple[Path, Path] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Broker:
    """Start a broker and wait until it answers.

    Args:
        directory: its data; default: in the cache.
        port: 0 for any free one.
        password_file: made with `mosquitto_passwd`; without it, no login is needed.
        certificate: files with certificate and private key; adds a port with TLS.
        settings: further lines of `mosquitto.conf`.

    Raises:
        SetupError: mosquitto is not installed, or does not start.
    """
    _program()
    directory = (directory or cache_directory() / "mosquitto").absolute()
    directory.mkdir(parents=True, exist_ok=True)
    free = free_ports(2)
    broker = Broker(directory, port or free[0], free[1] if certificate else 0)
    if _answers(broker.port):
        raise SetupError(f"port {broker.port} is in use", where="mqtt up", hint="take another with --port")
    lines = {
        "allow_anonymous": "false" if password_file else "true",
        "persistence": "true",
        "persistence_location": f"{directory}/",
        "autosave_interval": "1",
        "autosave_on_changes": "true",
        "max_queued_messages": "0",
        **({"password_file": str(password_file)} if password_file else {}),
        **({"user": "root"} if os.geteuid() == 0 else {}),
        **(settings or {}),
    }
    text = [f"{name} {value}" for name, value in lines.items()]
    text += [f"listener {broker.port} {HOST}"]
    if certificate:
        text += [
            f"listener {broker.tls_port} {HOST}",
            f"certfile {certificate[0]}",
            f"keyfile {certificate[1]}",
        ]
    (directory / "mosquitto.conf").write_text("\n".join(text) + "\n")
    broker.start()
    return broker


def _program() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"])
    program = shutil.which("mosquitto", path=path)
    if program is None:
        hint = "apt-get install mosquitto, or brew install mosquitto"
        raise SetupError("mosquitto is not installed", where="mqtt up", hint=hint)
    return program


def _answers(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
