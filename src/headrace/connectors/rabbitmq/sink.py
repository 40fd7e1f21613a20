"""Publishes rows to an exchange, with publisher confirms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pika
from pika import exceptions

from headrace.connectors.base import WriteContext
from headrace.connectors.options import seconds_of
from headrace.connectors.rabbitmq.connection import Broker, close, declare_exchange
from headrace.connectors.retry import retry, server_errors
from headrace.connectors.row_encoding import Fields, content_type, encode_columns, encode_texts
from headrace.connectors.templates import template_expression
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.rabbitmq import RabbitMQ


class RabbitPublisher:
    """Publishes messages one by one; each is confirmed before the next is sent."""

    def __init__(self, options: RabbitMQ, context: WriteContext) -> None:
        self._options, self._context, self._broker = options, context, Broker(options)
        self._timeout = seconds_of(options.retry_timeout)
        self._channel: Any = None

    def expressions(self, fields: Fields) -> list[str]:
        """Return the expressions of routing key, body and headers."""
        options, where = self._options, self._context.sink
        value = encode_columns(options, fields, where)
        return [
            template_expression(options.routing_key, fields, where),
            f"cast({value} as binary)",
            encode_texts(options.headers, fields, where),
        ]

    def open(self) -> None:
        with self._errors():
            self._connect()

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        for number, (key, body, headers) in enumerate(messages):
            # The digest distinguishes messages with the same number if an epoch is replayed in another order.
            digest = hashlib.sha256(key.encode() + b"\0" + (body or b"")).hexdigest()[:16]
            properties = self._properties(f"{epoch}.{number}.{digest}", headers)
            with self._errors():
                retry(self._broker, self._timeout, lambda: self._send(key, body, properties), self.close)  # noqa: B023

    def close(self) -> None:
        if self._channel is not None:
            close(self._channel)
        self._channel = None

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
            raise DeliveryError(what, where=self._context.sink, hint=hint) from None

    def _connect(self) -> None:
        self._channel = self._broker.connect().channel()
        declare_exchange(self._channel, self._options)
        self._channel.confirm_delivery()

    def _properties(self, number: str, headers: list[str | None]) -> Any:
        context = self._context
        identity = f"{context.pipeline}.{context.sink}.{context.checkpoint_id}.{number}"
        return pika.BasicProperties(
            content_type=content_type(self._options.format),
            delivery_mode=2,
            message_id=identity[-255:],
            headers=dict(zip(self._options.headers, headers, strict=True)) or None,
        )

    def _errors(self) -> AbstractContextManager[None]:
        return server_errors(self._broker, DeliveryError, "", where=self._context.sink)
