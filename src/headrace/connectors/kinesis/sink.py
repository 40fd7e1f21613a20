"""Sends rows as records to a Kinesis stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import WriteContext
from headrace.connectors.kinesis.service import RecordsRejectedError
from headrace.connectors.retry import retry, server_errors
from headrace.connectors.row_encoding import Fields, encode_columns
from headrace.connectors.templates import template_expression
from headrace.errors import DeliveryError

if TYPE_CHECKING:
    from headrace.connectors.kinesis import Kinesis

MAX_RECORDS = 500
"""The maximum number of records per request."""
MAX_BYTES = 5 << 20
"""The maximum size of a request, partition keys included."""
_MAX_KEY = 256


class KinesisPublisher:
    """Sends records in requests as large as the service allows."""

    def __init__(self, options: Kinesis, context: WriteContext) -> None:
        self._options, self._service, self._sink = options, options.service, context.sink
        self._client: Any = None

    def expressions(self, fields: Fields) -> list[str]:
        """Return the expressions of partition key and record."""
        options, where = self._options, self._sink
        value = encode_columns(options, fields, where)
        return [template_expression(options.partition_key, fields, where), f"cast({value} as binary)"]

    def open(self) -> None:
        with self._errors("cannot be opened"):
            self._client = self._service.connect()
            self._client.describe_stream_summary(StreamName=self._options.stream)

    def publish(self, messages: Iterable[tuple[Any, ...]], epoch: int) -> None:
        keyed = ((key or f"{epoch}.{number}", value) for number, (key, value) in enumerate(messages))
        for request in group_records(keyed):
            pending = list(request)
            with self._errors(f"cannot store epoch {epoch}"):
                retry(self._service, self._options.retry_seconds, lambda: self._send(pending))  # noqa: B023

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _send(self, pending: list[dict[str, Any]]) -> None:
        """Send records; leave those in the list that the service has rejected."""
        response = self._client.put_records(StreamName=self._options.stream, Records=pending)
        results = list(zip(pending, response["Records"], strict=True))
        pending[:] = [record for record, result in results if result.get("ErrorCode")]
        if pending:
            reasons = {result["ErrorMessage"] for _, result in results if result.get("ErrorCode")}
            raise RecordsRejectedError(f"{len(pending)} records were rejected: {'; '.join(sorted(reasons))}")

    def _errors(self, action: str) -> AbstractContextManager[None]:
        text = f"the stream `{self._options.stream}` of {self._service.address} {action}: "
        return server_errors(self._service, DeliveryError, text, where=self._sink)


def group_records(messages: Iterable[tuple[str, bytes | None]]) -> Iterator[list[dict[str, Any]]]:
    """Group partition keys and values into requests within the limits of the service.

    >>> [len(request) for request in group_records([("a", b"1")] * 501)]
    [500, 1]
    """
    request: list[dict[str, Any]] = []
    size = 0
    for key, value in messages:
        record = {"PartitionKey": key[:_MAX_KEY], "Data": value or b""}
        length = len(value or b"") + len(key.encode())
        if request and (len(request) == MAX_RECORDS or size + length > MAX_BYTES):
            yield request
            request, size = [], 0
        request.append(record)
        size += length
    if request:
        yield request
