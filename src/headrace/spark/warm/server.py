"""The server of a warm session: `python -m headrace.spark.warm.server`, started by `headrace warm`.

It starts Spark, then lends the JVM to one run at a time over a socket of mode 0600. When the process of a run
has ended, in whatever way, the JVM must be idle; otherwise it is killed, and replaced as after many runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.spark.gateway import connection, is_idle, kill_jvm, used_heap
from headrace.spark.session import open_session
from headrace.spark.warm.places import OFF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_RUNS = 50
"""Runs after which the JVM is replaced: classes and Python workers of earlier runs remain in it."""
MAX_HEAP = 0.6
"""The share of the heap, after a collection, above which the JVM is replaced."""
_REPLACE = 3
"""The exit status that makes the command start the server again."""
_MAX_DESCRIPTORS = 8


class Server:
    """Lends the session of this process."""

    def __init__(self, session: SparkSession, place: Path, idle_seconds: float) -> None:
        self._session = session
        self._place = place
        self._idle = idle_seconds
        self._runs = 0

    def serve(self) -> bool:
        """Serve until the idle time is over or a stop is requested; True if the JVM must be replaced."""
        with self._listen() as listener:
            last = time.monotonic()
            while (remaining := last + self._idle - time.monotonic()) > 0:
                if not select.select([listener], [], [], remaining)[0]:
                    break
                client, _ = listener.accept()
                with client:
                    request, descriptors = self._receive(client)
                    if request == "stop":
                        self._place.unlink(missing_ok=True)
                        _answer(client, {"stopped": os.getpid()})
                        kill_jvm()
                        return False
                    reusable = request != "borrow" or self._lend(client, listener, descriptors)
                last = time.monotonic()
                if not reusable:
                    return True
        return False

    def _lend(self, client: socket.socket, listener: socket.socket, descriptors: list[int]) -> bool:
        """Lend the JVM until the client has ended; return False if it cannot be used again."""
        port, secret = connection()
        _answer(client, {"port": port, "secret": secret})
        client.setblocking(True)
        self._runs += 1
        while client not in (ready := select.select([client, listener], [], [])[0]):
            if listener in ready:  # another run has to start its own JVM
                with listener.accept()[0] as other:
                    _answer(other, {"busy": os.getpid()})
        reusable = self._runs < MAX_RUNS and self._is_clean()
        if not reusable:
            self._place.unlink(missing_ok=True)
            kill_jvm()
        for descriptor in descriptors:  # locks of checkpoints: no thread of the JVM writes there any more
            os.close(descriptor)
        return reusable

    def _is_clean(self) -> bool:
        try:
            return is_idle(self._session) and used_heap(self._session) < MAX_HEAP
        except Exception:  # the JVM has ended
            return False

    def _listen(self) -> socket.socket:
        self._place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._place.parent.chmod(0o700)
        self._place.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listener.bind(str(self._place))
        finally:
            os.umask(before)
        listener.listen(8)
        return listener

    def _receive(self, client: socket.socket) -> tuple[str, list[int]]:
        """Return the request of a process of the same user, and its file descriptors."""
        client.settimeout(5)
        if _user_of(client) not in (os.getuid(), None):
            return "", []
        with contextlib.suppress(OSError):
            message, descriptors, _, _ = socket.recv_fds(client, 64, _MAX_DESCRIPTORS)
            return message.decode(errors="replace"), descriptors
        return "", []


def main() -> None:
    """Start Spark with the settings on standard input, serve, and exit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("place", type=Path)
    parser.add_argument("--idle", type=float, required=True)
    arguments = parser.parse_args()
    request = json.loads(sys.stdin.read())
    os.environ[OFF] = "off"  # its own session is not one that another server lends
    jars = [Path(jar) for jar in request["jars"]]
    session = open_session("headrace-warm", master=request["master"], conf=request["conf"], jars=jars)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = Server(session, arguments.place, arguments.idle)
    try:
        replaced = server.serve()
    finally:
        arguments.place.unlink(missing_ok=True)
        kill_jvm()
    if replaced:
        os.environ.pop(OFF)
        _start_again(request)


def _start_again(request: dict[str, object]) -> None:
    reader, writer = os.pipe()
    os.write(writer, json.dumps(request).encode())
    os.close(writer)
    os.dup2(reader, 0)
    os.execv(sys.executable, [sys.executable, "-m", "headrace.spark.warm.server", *sys.argv[1:]])


def _answer(client: socket.socket, answer: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # the client has ended
        client.sendall(json.dumps(answer).encode())


def _user_of(client: socket.socket) -> int | None:
    """Return the user of the process at the other end; None where the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


if __name__ == "__main__":
    main()
