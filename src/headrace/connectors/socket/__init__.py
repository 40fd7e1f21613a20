"""Lines of text from a TCP server.

*Source*: what has come to disk is never lost. A TCP server sends each byte once, so the lines are first written to a spool
on the driver's disk, beside the checkpoint, and the queries read that: they can read it again after a crash. What is on its
way there when the process is killed, a fifth of a second, and what the server sends while nobody is connected, is the
server's to keep. Meant for tests, demonstrations and small feeds; a
broker is the way to more.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from headrace.connectors.base import Connector, Reader, Role
from headrace.connectors.options import DurationOption


class Socket(Connector):
    """Connects to a server and reads lines; when the server hangs up, connects again until the run ends.

    Lines end with a newline (or with the connection). With `--once` the run takes what has come by then, which for a
    server that was just reached may be nothing.

    >>> Socket(port=9999).host
    'localhost'
    """

    kind: ClassVar[str] = "socket"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})

    host: str = Field(default="localhost", min_length=1, description="The server's name or address")
    port: int = Field(ge=1, le=65535, description="The server's port")
    reconnect: DurationOption = Field(
        default="1 second", description="How long to wait before connecting again"
    )
    keep: DurationOption = Field(
        default="1 hour", description="How long spooled lines are kept; longer than an epoch may lag behind"
    )

    @property
    def replayable(self) -> bool:
        return True

    @property
    def replay_assumption(self) -> str:
        return "the server sends again what wasn't on disk yet when a run died"

    def reader(self) -> Reader:
        from headrace.connectors.socket.source import SocketReader

        return SocketReader(self)
