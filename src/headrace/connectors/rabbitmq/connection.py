"""A broker: connections, the declaration of queues and exchanges, and the meaning of errors."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pika
from pika import exceptions

from headrace.connectors.network.tls import client_context
from headrace.connectors.options import seconds_of

if TYPE_CHECKING:
    from headrace.connectors.rabbitmq import RabbitMQ

CONNECT_SECONDS = 10.0
FINAL = (
    exceptions.ProbableAuthenticationError,
    exceptions.AuthenticationError,
    exceptions.ProbableAccessDeniedError,
    exceptions.ChannelClosedByBroker,
)
"""Errors that a retry does not change."""
ERRORS = (exceptions.AMQPError, OSError)


class Broker:
    """The broker of a source or a sink, and the meaning of its errors."""

    def __init__(self, options: RabbitMQ) -> None:
        self._options = options
        self.address = options.address

    def connect(self) -> Any:
        """Open a connection, or raise one of `ERRORS`."""
        options = self._options
        parameters = pika.URLParameters(options.url)
        parameters.heartbeat = max(int(seconds_of(options.heartbeat)), 2)
        parameters.socket_timeout = parameters.stack_timeout = CONNECT_SECONDS
        parameters.blocked_connection_timeout = seconds_of(options.retry_timeout)
        parameters.connection_attempts = 1
        if options.tls is not None:
            parameters.ssl_options = pika.SSLOptions(client_context(options.tls), parameters.host)
        return pika.BlockingConnection(parameters)

    def translate_error(self, error: Exception) -> tuple[str, str] | None:
        """Return problem and hint of an error of the broker or the connection; None for any other error."""
        if not isinstance(error, ERRORS):
            return None
        if isinstance(error, exceptions.ChannelClosedByBroker):
            options, missing = self._options, error.reply_code == 404
            target = f"queue `{options.queue}`" if options.queue else f"exchange `{options.exchange}`"
            hint = "check its settings there"
            if missing:
                declared = "declare the exchange that it is bound to"
                hint = declared if options.create else "declare it at the broker, or set create=True"
            return f"the {target} at {self.address} cannot be used: {error.reply_text}", hint
        if isinstance(error, FINAL):
            hint = "check user, password and virtual host: amqp://${USER}:${PASSWORD}@host/vhost"
            return f"the RabbitMQ broker at {self.address} refuses the login", hint
        reason = str(error) or type(error).__name__
        if isinstance(error, exceptions.AMQPConnectionError) and error.args:
            reason = str(getattr(error.args[0], "exception", error.args[0]))
        return f"no RabbitMQ broker answers at {self.address}: {reason}", "is it running there?"

    def is_unavailable(self, error: Exception) -> bool:
        """True if a retry may succeed."""
        return isinstance(error, ERRORS) and not isinstance(error, FINAL)


def close(channel: Any) -> None:
    """Close the connection of a channel."""
    if channel.connection.is_open:
        with suppress(exceptions.AMQPError):  # the broker may close it first
            channel.connection.close()


def declare_queue(channel: Any, options: RabbitMQ) -> None:
    """Declare the queue of a source with its bindings, or check that it exists."""
    if not options.create:
        channel.queue_declare(options.queue, passive=True)
        return
    arguments = (
        {"x-dead-letter-exchange": options.dead_letter_exchange} if options.dead_letter_exchange else {}
    )
    channel.queue_declare(options.queue, durable=True, arguments=arguments)
    for exchange, keys in options.bindings.items():
        for key in keys:
            channel.queue_bind(options.queue, exchange, key)


def declare_exchange(channel: Any, options: RabbitMQ) -> None:
    """Declare the exchange of a sink, or check that it exists; the default exchange always does."""
    if not options.exchange:
        return
    if options.create:
        channel.exchange_declare(options.exchange, options.exchange_type, durable=True)
    else:
        channel.exchange_declare(options.exchange, passive=True)
