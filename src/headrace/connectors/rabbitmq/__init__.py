"""RabbitMQ: queues as sources, exchanges as sinks, over AMQP 0-9-1.

*Source*: at least once. A message is acknowledged to the broker once the write-ahead log beside the
checkpoint holds it; messages that were not are delivered again. A redelivered message with a `message_id`
is stored once. Messages that the log drops are rejected, so that they go to the dead-letter exchange of the
queue, if it has one.

*Sink*: at least once, with publisher confirms. An epoch is committed when the broker has confirmed every
message of it; after a crash in between it is published again, with the same `message_id`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from headrace.access.options import Address
from headrace.connectors.base import Guarantee, ReadContext, Role, Writer
from headrace.connectors.extras import require_package
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.metadata import MetadataOption, metadata_field
from headrace.connectors.network.addresses import url_check
from headrace.connectors.network.tls import TlsFiles
from headrace.connectors.options import DurationOption, MessageFormatOption, NamesOption, RetryTimeoutOption
from headrace.connectors.roles import SinkOption, SourceOption
from headrace.connectors.templates import TemplateOption, template_columns
from headrace.connectors.write_ahead_log import Receiver
from headrace.connectors.write_ahead_log.options import LoggedSource, QuietOption

_PARAMETER_NAMES = """
    backpressure_detection blocked_connection_timeout channel_max connection_attempts frame_max heartbeat
    locale retry_delay socket_timeout stack_timeout
"""
_PARAMETERS = frozenset(_PARAMETER_NAMES.split())
"""Parameters of the client's URLs that name no file."""
_Url = Annotated[
    str,
    Address(_PARAMETERS, default_host="localhost"),
    url_check("amqp", "amqps", expected="`amqp://user:password@host:5672/vhost`"),
]


class RabbitMQ(LoggedSource):
    """A source consumes a queue; a sink publishes each row to an exchange.

    The routing key of a sink is computed from columns: `{severity}`. With `create` the queue of a source is
    declared as durable and bound to exchanges (`bindings`), and the exchange of a sink is declared as
    durable; without it they must exist.

    >>> RabbitMQ(url="amqp://guest:guest@localhost:5672/", queue="orders").prefetch
    1000
    >>> RabbitMQ(url="amqp://localhost/", exchange="alerts", routing_key="{severity}").template_columns
    ('severity',)
    """

    kind: ClassVar[str] = "rabbitmq"
    roles: ClassVar[frozenset[Role]] = frozenset({"source", "sink"})
    delivers: ClassVar[Guarantee] = "at_least_once"
    append_only: ClassVar[str] = "an exchange"
    metadata_types: ClassVar[dict[str, str]] = {
        "exchange": "string",
        "routing_key": "string",
        "redelivered": "boolean",
        "message_id": "string",
        "content_type": "string",
        "headers": "map<string,string>",
        "received_at": "timestamp",
    }

    url: _Url = Field(
        description="The broker: `amqp://user:password@host:5672/vhost`, or with TLS `amqps://`"
    )
    queue: SourceOption[str | None] = Field(default=None, min_length=1, description="The queue to consume")
    prefetch: SourceOption[int] = Field(
        default=1000, ge=1, le=65535, description="The maximum number of messages that wait to be durable"
    )
    bindings: SourceOption[Mapping[str, Sequence[str]]] = Field(
        default={},
        description="The exchanges to which a created queue is bound, with routing keys: `{orders: [eu.*]}`",
    )
    dead_letter_exchange: SourceOption[str | None] = Field(
        default=None, min_length=1, description="The dead-letter exchange of a created queue"
    )
    metadata: SourceOption[MetadataOption] = metadata_field(metadata_types, "{routing_key: sent_to}")
    quiet: QuietOption = "1 second"
    exchange: SinkOption[str | None] = Field(
        default=None, description="The exchange to publish to; empty text for the default exchange"
    )
    routing_key: SinkOption[TemplateOption] = Field(
        default="", description="The routing key of each row; `{column}` is the value of a column"
    )
    exchange_type: SinkOption[Literal["direct", "fanout", "topic", "headers"]] = Field(
        default="topic", description="The type of a created exchange"
    )
    unroutable: SinkOption[Literal["fail", "drop"]] = Field(
        default="fail", description="Fail, or let the broker drop the message, if no queue is bound for it"
    )
    format: MessageFormatOption = None
    value: SinkOption[NamesOption] = Field(
        default=(), description="The columns of the body; default: all except those of the routing key"
    )
    headers: SinkOption[NamesOption] = Field(default=(), description="Columns that become headers, as text")
    create: bool = Field(default=False, description="Declare the queue or the exchange if it does not exist")
    tls: TlsFiles | None = Field(default=None, description="Certificates for `amqps://`")
    heartbeat: DurationOption = Field(
        default="1 minute", description="How often an idle connection is checked"
    )
    retry_timeout: RetryTimeoutOption = "5 minutes"

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if (self.queue is None) == (self.exchange is None):
            raise ValueError("expected `queue` for a source or `exchange` for a sink")
        if (self.bindings or self.dead_letter_exchange) and not self.create:
            raise ValueError("`bindings` and `dead_letter_exchange` need `create`")
        return self

    @property
    def address(self) -> str:
        """The broker's address, without the login."""
        parts = urlsplit(self.url)
        return (
            f"{parts.scheme}://{parts.hostname}:{parts.port or (5671 if parts.scheme == 'amqps' else 5672)}"
        )

    @property
    def offset_identity(self) -> tuple[str, ...]:
        return (self.kind, f"queue `{self.queue}`")

    @property
    def template_columns(self) -> tuple[str, ...]:
        """The columns from which a sink computes the routing key."""
        return template_columns(self.routing_key)

    @property
    def address_columns(self) -> tuple[str, ...]:
        return (*self.template_columns, *self.headers)

    def stream_problem(self) -> tuple[str, str] | None:
        return None if self.queue else ("no queue is set", 'add queue="orders"')

    def receiver(self, context: ReadContext) -> Receiver:
        require_package("pika", extra="rabbitmq")
        from headrace.connectors.rabbitmq.receiver import RabbitReceiver

        return RabbitReceiver(self, context)

    def writer(self) -> Writer:
        require_package("pika", extra="rabbitmq")
        from headrace.connectors.rabbitmq.sink import RabbitPublisher

        return MessageWriter(lambda context: RabbitPublisher(self, context))
