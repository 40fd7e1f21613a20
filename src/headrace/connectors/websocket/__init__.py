"""WebSockets: a client as a source, a server for live pages as a sink.

*Source*: at most once. The protocol has no acknowledgements: a message counts as received when it arrives,
is stored in the write-ahead log beside the checkpoint, and is then processed as the sink guarantees.
Messages that the server sends while no run is connected are lost.

*Sink*: at most once. A run serves a page or any other client; each row is sent to the clients that are
connected. The same path serves server-sent events to requests with `Accept: text/event-stream`, such as
`EventSource` in a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, SecretStr, model_validator

from headrace.access.options import Address
from headrace.connectors.base import Guarantee, ReadContext, Role, Writer
from headrace.connectors.extras import require_package
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.metadata import MetadataOption
from headrace.connectors.network.addresses import ListenOption, url_check
from headrace.connectors.network.tls import TlsFiles
from headrace.connectors.options import MessageFormatOption, NamesOption, RetryTimeoutOption, SizeOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.write_ahead_log import Receiver
from headrace.connectors.write_ahead_log.options import LoggedSource, QuietOption

_Url = Annotated[str, Address(), url_check("ws", "wss", expected="`ws://host/path` or `wss://host/path`")]


class WebSocket(LoggedSource):
    """A source connects to a server (`url`); a sink is a server (`listen`).

    A new client of a sink first receives the last `backlog` rows. A client that reads too slowly misses the
    oldest of its waiting messages, and no other client is delayed.

    >>> WebSocket(url="ws://host/feed").source_guarantee
    'at_most_once'
    >>> WebSocket(listen="127.0.0.1:8090", path="/live").backlog
    0
    """

    kind: ClassVar[str] = "websocket"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    delivers: ClassVar[Guarantee] = "at_most_once"
    metadata_types: ClassVar[dict[str, str]] = {"received_at": "timestamp"}
    received_guarantee: ClassVar[Guarantee] = "at_most_once"

    url: SourceOption[_Url | None] = Field(
        default=None, description="The server: `ws://host/feed` or `wss://`"
    )
    subscribe: SourceOption[NamesOption] = Field(
        default=(), description='Messages to send after each connect, such as `{"op": "subscribe"}`'
    )
    headers: SourceOption[Mapping[str, str]] = Field(
        default={}, description="Headers of the request that opens the connection"
    )
    max_message: SourceOption[SizeOption] = Field(
        default="16 MB", description="The maximum size of a message; a larger one closes the connection"
    )
    metadata: SourceOption[MetadataOption] = Field(
        default={}, description="Metadata that become columns: `received_at`"
    )
    tls: SourceOption[TlsFiles | None] = Field(default=None, description="Certificates for `wss://`")
    retry_timeout: SourceOption[RetryTimeoutOption] = "5 minutes"
    quiet: QuietOption = "1 second"
    listen: SinkOption[ListenOption | None] = Field(
        default=None, description="Host and port to listen on: `127.0.0.1:8090`"
    )
    path: SinkOption[str] = Field(default="/", pattern="^/", description="The path of the endpoint")
    token: SecretStr | None = Field(
        default=None,
        description="A token, such as `${TOKEN}`: sent by a source as `Authorization: Bearer ...`; required "
        "from the clients of a sink, in that header or as `?token=...`",
    )
    backlog: SinkOption[int] = Field(
        default=0, ge=0, le=100_000, description="The number of latest rows that a new client receives first"
    )
    client_queue: SinkOption[int] = Field(
        default=10_000, ge=1, description="The maximum number of messages that wait for a slow client"
    )
    format: MessageFormatOption = None
    value: SinkOption[NamesOption] = Field(
        default=(), description="The columns of a message; default: all columns"
    )

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if (self.url is None) == (self.listen is None):
            raise ValueError("expected `url` for a source or `listen` for a sink")
        return self

    def target(self) -> str | None:
        return self.listen

    def stream_problem(self) -> tuple[str, str] | None:
        return None if self.url else ("no address is set", 'add url="ws://host/feed"')

    def receiver(self, context: ReadContext) -> Receiver:
        require_package("websockets", extra="http")
        from headrace.connectors.websocket.receiver import WebSocketReceiver

        return WebSocketReceiver(self, context)

    def writer(self) -> Writer:
        require_package("uvicorn", extra="http")
        from headrace.connectors.websocket.sink import Broadcaster

        return MessageWriter(lambda context: Broadcaster(self, context))
