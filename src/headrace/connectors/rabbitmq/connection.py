"""Connections to a broker, the declaration of queues and exchanges, and the meaning of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pika
from pika import exceptions

from headrace.connectors.network.tls import client_context
from headrace.durations import microseconds
from headrace.errors import Problem

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


def connect(options: RabbitMQ) -> Any:
    """Open a connection.

    Raises:
        exceptions.AMQPError: no broker answers, or it refuses the connection.
    """
    parameters = pika.URLParameters(options.url)
    parameters.heartbeat = max(int(microseconds(options.heartbeat) / 1e6), 2)
    parameters.socket_timeout = parameters.stack_timeout = CONNECT_SECONDS
    parameters.blocked_connection_timeout = microseconds(options.retry_timeout) / 1e6
    parameters.connection_attempts = 1
    if options.tls is not None:
        host = parameters.host
        parameters.ssl_options = pika.SSLOptions(client_context(options.tls), host)
    return pika.BlockingConnection(parameters)


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


def describe_error(error: BaseException, options: RabbitMQ, where: str) -> Problem:
    """Return location, problem and hint for an error of the broker or the connection."""
    place = options.place
    if isinstance(error, exceptions.ChannelClosedByBroker):
        target = f"queue `{options.queue}`" if options.queue else f"exchange `{options.exchange}`"
        missing = error.reply_code == 404
        hint = (
            "declare it at the broker, or set create=True" if missing else "check its settings at the broker"
        )
        return Problem(where, f"the {target} at {place} can't be used: {error.reply_text}", hint)
    if isinstance(error, FINAL):
        hint = "check user, password and virtual host: amqp://${USER}:${PASSWORD}@host/vhost"
        return Problem(where, f"the RabbitMQ broker at {place} refuses the login", hint)
    reason = str(error) or type(error).__name__
    if isinstance(error, exceptions.AMQPConnectionError) and error.args:
        reason = str(getattr(error.args[0], "exception", error.args[0]))
    return Problem(where, f"no RabbitMQ broker answers at {place}: {reason}", "is it running there?")
