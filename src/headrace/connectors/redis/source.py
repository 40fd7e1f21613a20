"""Reads a stream through a consumer group; the driver plans epochs, and a task reads the pending entries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow

from headrace.connectors.base import ReadContext
from headrace.connectors.driver_source import Offset
from headrace.connectors.driver_source.source import DriverReader
from headrace.connectors.driver_source.splits import split_reader
from headrace.connectors.flatten import literal, position_column, quote_name, text_schema
from headrace.connectors.redis.entries import FIRST, ConsumedStream, id_order, record_of
from headrace.connectors.redis.server import decode_text
from headrace.connectors.retry import ReconnectingSession, connect, portable_errors, server_errors
from headrace.errors import SourceError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.redis import Redis

_BATCH_ROWS = 10_000
_SEQUENCE_BITS = 20
"""Bits of an offset that hold the number in an id; the others hold its milliseconds."""


class RedisReader(DriverReader):
    """Reads one stream."""

    def __init__(self, options: Redis) -> None:
        super().__init__()
        self._options = options

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        options = self._options
        name = f"headrace-{context.pipeline}-{context.source}"
        entries = ConsumedStream(
            options.server, options.stream or "", options.group or name, name, options.retry_seconds
        )
        self._create_group(entries, context)
        enumerator = StreamEnumerator(entries, options.max_per_batch, context.source)
        splits = self.splits(spark, context.source, enumerator)
        if options.encoding is None:
            return self._rows(splits, entries, context)
        read = split_reader(partial(_read_split, entries, context.source, [], options.field))
        frame = splits.mapInArrow(read, "value binary, id string, number bigint")
        columns = ["value", f"{literal(entries.stream)} as partition", "number as offset"]
        return frame.selectExpr(*columns, *options.metadata_struct({}))

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        raise SourceError(
            "a Redis stream is read through its group, not as a batch",
            where=context.source,
            hint='run it as a stream, with until="caught_up"',
        )

    def _rows(self, splits: DataFrame, entries: ConsumedStream, context: ReadContext) -> DataFrame:
        """Return the fields of entries as columns."""
        fields = context.schema.fields if context.schema is not None else ()
        names = [column.name for column in fields]
        read = split_reader(partial(_read_split, entries, context.source, names, None))
        frame = splits.mapInArrow(read, f"{text_schema(names)}, __id string, __number bigint")
        values = (f"cast({quote_name(c.name)} as {c.type}) as {quote_name(c.name)}" for c in fields)
        position = position_column(context.source, literal(entries.stream), "__number")
        metadata = (f"__id as {quote_name(name)}" for name in self._options.metadata_columns)
        return frame.selectExpr(*values, *metadata, position)

    def _create_group(self, entries: ConsumedStream, context: ReadContext) -> None:
        server = entries.server
        action = f"the stream `{entries.stream}` of {server.address} cannot be read: "
        errors = server_errors(server, SourceError, action, where=context.source)
        with errors, closing(server.connect()) as client:
            entries.create_group(client, self._options.start)


class StreamEnumerator:
    """Plans the epochs of a stream: the pending entries of this consumer between two ids."""

    def __init__(self, entries: ConsumedStream, max_per_batch: int, source: str) -> None:
        self._entries, self._max = entries, max_per_batch
        self._session = ReconnectingSession(
            entries.server, entries.retry_timeout, reads=f"the stream `{entries.stream}`", source=source
        )
        self._limit: str | None = None

    def initial(self) -> Offset:
        return {"id": FIRST}

    def available(self) -> None:
        self._limit = self._session.retry(self._entries.last_id)

    def latest(self, start: Offset) -> Offset:
        last = self._session.retry(lambda client: self._last(client, start["id"]))
        return {"id": last} if last is not None else start

    def splits(self, start: Offset, end: Offset) -> Sequence[bytes]:
        return [json.dumps([start["id"], end["id"]]).encode()]

    def commit(self, end: Offset) -> None:
        self._session.retry(lambda client: self._entries.acknowledge(client, end["id"]))

    def close(self) -> None:
        self._session.close()

    def _last(self, client: Any, after: str) -> str | None:
        """Return the end of the next epoch, after claiming new entries; None if there are none."""
        if self._limit is not None and id_order(after) >= id_order(self._limit):
            return None
        last = self._entries.last_pending(client, after, self._max)
        if last is None:
            self._entries.claim(client, self._max)
            last = self._entries.last_pending(client, after, self._max)
        if last is None or self._limit is None:
            return last
        return min(last, self._limit, key=id_order)


def _read_split(
    entries: ConsumedStream, source: str, names: Sequence[str], field: str | None, split: bytes
) -> Iterator[RecordBatch]:
    """Return the entries of a split, on an executor: the named fields as text, or one record per entry."""
    with portable_errors(entries.server, source), connect(entries.server, entries.retry_timeout) as client:
        pending = list(entries.pending(client, *json.loads(split)))
    for first in range(0, len(pending), _BATCH_ROWS):
        part = pending[first : first + _BATCH_ROWS]
        ids = [name for name, _ in part]
        numbers = [milliseconds << _SEQUENCE_BITS | number for milliseconds, number in map(id_order, ids)]
        columns: list[Any]
        if names:
            columns = [[decode_text(fields.get(name.encode())) for _, fields in part] for name in names]
            labels = [*names, "__id", "__number"]
        else:
            columns = [[record_of(fields, field) for _, fields in part]]
            labels = ["value", "id", "number"]
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array(c) for c in (*columns, ids, numbers)], labels)
