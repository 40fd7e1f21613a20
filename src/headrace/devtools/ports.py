"""Free ports of this machine."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

HOST = "127.0.0.1"
_RANGE = range(10_000, 32_768)
"""Below the ephemeral ports of Linux and other systems, from which other processes take theirs."""


def free_ports(count: int) -> list[int]:
    """Return free ports outside the ephemeral range."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(_RANGE, len(_RANGE)):
        if len(ports) == count:
            break
        with suppress(OSError):
            probe_port(port)
            ports.append(port)
    return ports


def probe_port(port: int, host: str = HOST) -> None:
    """Bind a port and release it.

    Raises:
        OSError: the port is in use or not allowed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    socket.create_server((host, port), family=family).close()
