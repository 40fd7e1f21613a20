"""Use a warm session, if there is one with the same settings."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import SetupError
from headrace.spark.gateway import attach
from headrace.spark.warm.places import OFF, socket_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_SECONDS = 2.0
STOP_SECONDS = 30.0
_leases: list[socket.socket] = []
"""The connection to the warm session; the session is free again when this process has ended."""


def borrow(settings: Mapping[str, str], inherited: Sequence[int] = ()) -> SparkSession | None:
    """Return a session of the warm JVM with these settings; None if there is none, or another run uses it.

    The server keeps the file descriptors `inherited` open until the JVM has finished all work of this
    process, as a JVM of this process would.
    """
    if os.environ.get(OFF) == "off":
        return None
    place = socket_of(settings)
    if not place.exists():
        return None
    lease = socket.socket(socket.AF_UNIX)
    try:
        answer = _ask(lease, place, "borrow", inherited)
    except (OSError, ValueError):  # it has just ended, or was killed
        lease.close()
        return None
    if "port" not in answer:
        lease.close()
        return None
    _leases.append(lease)
    return attach(answer["port"], answer["secret"], secrets.token_hex(8))


def stop(place: Path) -> bool:
    """Stop the server of a socket; return False if there is none.

    Raises:
        SetupError: a run uses the session.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            answer = _ask(connection, place, "stop", seconds=STOP_SECONDS)
            connection.recv(1)  # until the server has ended
        except (OSError, ValueError):
            place.unlink(missing_ok=True)
            return False
    if "stopped" not in answer:
        raise SetupError("a run uses the warm session", where="warm", hint="wait for it, or stop it first")
    return True


def _ask(
    connection: socket.socket,
    place: Path,
    request: str,
    descriptors: Sequence[int] = (),
    seconds: float = CONNECT_SECONDS,
) -> dict[str, Any]:
    connection.settimeout(seconds)
    connection.connect(str(place))
    socket.send_fds(connection, [request.encode()], list(descriptors))
    answer: dict[str, Any] = json.loads(connection.recv(4096))
    return answer
