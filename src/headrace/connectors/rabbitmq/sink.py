"""Publishes rows to an exchange, with publisher confirms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pika
from pika import exceptions

from headrace.connectors.base import WriteContext
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.rabbitmq.connection import FINAL, connect, declare_exchange, describe_error
from headrace.connectors.row_encoding import Fields, encode_text, encode_value
from headrace.connectors.templates import template_expression
from headrace.durations import microseconds
from headrace.errors import DeliveryError, did_you_mean
from headrace.formats import Format

if TYPE_CHECKING:
    from headrace.connectors.rabbitmq import RabbitMQ

_BACKOFF_SECONDS = (0.25, 10.0)
_CONTENT_TYPES = {"json": "application/json", "csv": "text/csv", "text": "text/plain"}


def rabbit_writer(options: RabbitMQ) -> MessageWriter:
    """Return the writer of a sink."""
    return MessageWriter(
        RabbitPublisher(options), lambda fields, where: message_expressions(options, fields, where)
    )


def message_expressions(options: RabbitMQ, fields: Fields, where: str) -> list[str]:
    """Return the expressions of routing key, body and headers.

    Raises:
        DeliveryError: an option names an unknown column.
    """
    for name in (*options.value, *options.headers):
        if name not in fields:
            raise DeliveryError(f"unknown column `{name}`", where=where, hint=did_you_mean(name, fields))
    apart = {*options.routing_columns, *options.headers}
    names = list(options.value) or [name for name in fields if name not in apart] or list(fields)
    chosen = options.format if isinstance(options.format, Format) else None
    headers = [encode_text(fields[name]) for name in options.headers]
    return [
        template_expression(options.routing_key, fields, where),
        f"cast({encode_value(chosen, {name: fields[name] for name in names}, where)} as binary)",
        f"cast(array({', '.join(headers)}) as array<string>)",
    ]


class RabbitPublisher:
    """Publishes messages one by one; each is confirmed before the next is sent."""

    def __init__(self, options: RabbitMQ) -> None:
        self._options = options
        self._context: WriteContext | None = None
        self._connection: Any = None
        self._channel: Any = None

    def open(self, context: WriteContext) -> None:
        self._context = context
        try:
            self._connect()
        except (exceptions.AMQPError, OSError) as error:
            raise self._error(error) from error

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        for number, (key, body, headers) in enumerate(messages):
            properties = self._properties(f"{epoch}.{number}", headers)
            self._retry(lambda: self._send(key, body, properties))  # noqa: B023 - called at once

    def close(self) -> None:
        if self._connection is not None and self._connection.is_open:
            with suppress(exceptions.AMQPError):  # the broker may close it first
                self._connection.close()
        self._connection = self._channel = None

    def _send(self, key: str, body: bytes, properties: Any) -> None:
        if self._channel is None or not self._channel.is_open:
            self.close()
            self._connect()
        mandatory = self._options.unroutable == "fail"
        try:
            self._channel.basic_publish(self._options.exchange or "", key, body or b"", properties, mandatory)
        except exceptions.UnroutableError:
            what = f"no queue is bound to exchange `{self._options.exchange}` for routing key `{key}`"
            hint = 'bind a queue, or set unroutable="drop"'
            raise DeliveryError(what, where=self._sink, hint=hint) from None

    def _retry(self, action: Callable[[], None]) -> None:
        """Run an action, reconnecting with backoff while the broker is unavailable."""
        deadline = time.monotonic() + microseconds(self._options.retry_timeout) / 1e6
        backoff, longest = _BACKOFF_SECONDS
        while True:
            try:
                return action()
            except (exceptions.AMQPError, OSError) as error:
                if isinstance(error, FINAL) or time.monotonic() + backoff > deadline:
                    raise self._error(error) from error
            time.sleep(backoff)
            backoff = min(2 * backoff, longest)

    def _connect(self) -> None:
        self._connection = connect(self._options)
        self._channel = self._connection.channel()
        declare_exchange(self._channel, self._options)
        self._channel.confirm_delivery()

    def _properties(self, number: str, headers: list[str | None]) -> Any:
        context, chosen = self._context, self._options.format
        encoding = chosen.name if isinstance(chosen, Format) else "json"
        identity = f"{context.pipeline}.{context.sink}.{context.checkpoint_id}" if context else ""
        return pika.BasicProperties(
            content_type=_CONTENT_TYPES.get(encoding, "application/octet-stream"),
            delivery_mode=2,
            message_id=f"{identity}.{number}"[-255:],
            headers=dict(zip(self._options.headers, headers, strict=True)) or None,
        )

    @property
    def _sink(self) -> str:
        return self._context.sink if self._context else ""

    def _error(self, error: BaseException) -> DeliveryError:
        problem = describe_error(error, self._options, self._sink)
        return DeliveryError(problem.what, where=problem.where, hint=problem.hint)
