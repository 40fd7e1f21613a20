"""Lines of text from a TCP server.

*Source*: replayable from disk. A TCP server sends each byte once, so lines are first stored in the
write-ahead log beside the checkpoint, from which queries read them, again after a crash. Lines that are not
in the log yet when the process is killed, and lines sent while no run is connected, are lost unless the
server sends them again. Meant for tests, demonstrations and small feeds; use a broker for more.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from headrace.access.options import Host
from headrace.connectors.base import Guarantee, ReadContext, Role
from headrace.connectors.options import DurationOption
from headrace.connectors.write_ahead_log import Receiver
from headrace.connectors.write_ahead_log.options import LoggedSource


class Socket(LoggedSource):
    """Reads lines from a server; reconnects when the server closes the connection, until the run ends.

    Lines end with a newline, or with the connection. A run with `--once` reads the lines that have arrived
    by then, possibly none. While the log is full, the source stops reading or drops lines (`overflow`).

    >>> Socket(port=9999).host
    'localhost'
    """

    kind: ClassVar[str] = "socket"
    roles: ClassVar[frozenset[Role]] = frozenset({"source"})
    received_guarantee: ClassVar[Guarantee] = "exactly_once"
    replay_assumption: ClassVar[str] = "the server sends lines again that were not on disk when a run died"

    host: Annotated[str, Host()] = Field(
        default="localhost", min_length=1, description="The server's name or address"
    )
    port: int = Field(ge=1, le=65535, description="The server's port")
    reconnect: DurationOption = Field(default="1 second", description="The pause before a reconnect")

    def receiver(self, context: ReadContext) -> Receiver:
        from headrace.connectors.socket.receiver import SocketReceiver

        return SocketReceiver(self, context)
