"""Reads a Kinesis stream: the driver reads the records of an epoch, one split per shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow

from headrace.connectors.base import ReadContext
from headrace.connectors.driver_source import Offset
from headrace.connectors.driver_source.source import DriverReader
from headrace.connectors.driver_source.splits import decode_split, encode_split, split_reader
from headrace.connectors.failpoints import reach
from headrace.connectors.kinesis.shards import ShardOffset, ShardRecords, Shards, readable_shards
from headrace.connectors.options import seconds_of
from headrace.connectors.retry import ReconnectingSession
from headrace.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.kinesis import Kinesis

_SCHEMA = pyarrow.schema(
    [
        ("value", pyarrow.binary()),
        ("shard", pyarrow.string()),
        ("offset", pyarrow.int64()),
        ("partition_key", pyarrow.string()),
        ("sequence_number", pyarrow.string()),
        ("arrived_at", pyarrow.timestamp("us", tz="UTC")),
    ]
)
_COLUMNS = (
    "value binary, shard string, offset bigint, partition_key string, sequence_number string, "
    "arrived_at timestamp"
)


class KinesisReader(DriverReader):
    """Reads one stream."""

    def __init__(self, options: Kinesis) -> None:
        super().__init__()
        self._options = options

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        enumerator = ShardEnumerator(self._options, context.source)
        splits = self.splits(spark, context.source, enumerator)
        frame = splits.mapInArrow(split_reader(decode_split), _COLUMNS)
        return frame.selectExpr("value", "shard as partition", "offset", *self._options.metadata_struct({}))

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        raise SourceError(
            "a Kinesis stream is not read as a batch",
            where=context.source,
            hint='run it as a stream, with until="caught_up"',
        )


class ShardEnumerator:
    """Plans the epochs of a stream. An offset holds where the source began and the offset of each shard."""

    def __init__(self, options: Kinesis, source: str) -> None:
        self._options = options
        self._every = seconds_of(options.every)
        self._session: ReconnectingSession[Any] = ReconnectingSession(
            options.service, options.retry_seconds, reads=f"the stream `{options.stream}`", source=source
        )
        self._caught_up: set[str] | None = None
        """The shards whose end is reached, in a run that processes the available records and stops."""
        self._prefetched: tuple[Offset, Offset, list[ShardRecords]] | None = None
        """Start, end and records of the epoch that `latest` planned."""

    def initial(self) -> Offset:
        start = self._options.start
        return {"start": datetime.now(UTC).isoformat() if start == "latest" else start, "shards": {}}

    def available(self) -> None:
        self._caught_up = set()

    def latest(self, start: Offset) -> Offset:
        if self._caught_up is not None:
            return self._session.retry(lambda client: self._plan(client, start))
        return self._session.poll(self._every, start, lambda client: self._plan(client, start))

    def splits(self, start: Offset, end: Offset) -> list[bytes]:
        if self._prefetched is None or self._prefetched[:2] != (start, end):
            parts = self._session.retry(lambda client: self._read_again(client, start, end))
        else:
            parts = self._prefetched[2]
        reach("kinesis.planned")
        return [_encode(part) for part in parts if part.records]

    def commit(self, end: Offset) -> None:
        """Do nothing: the service keeps no offsets."""

    def close(self) -> None:
        self._session.close()

    def _plan(self, client: Any, start: Offset) -> Offset:
        """Read the next records of every shard; return the offset after them."""
        shards, offsets = Shards(client, self._options.stream, start["start"]), _shard_offsets(start)
        reached = self._caught_up if self._caught_up is not None else set()
        readable = [s for s in readable_shards(shards.list(), offsets) if s["ShardId"] not in reached]
        limit = max(1, self._options.max_per_batch // max(1, len(readable)))
        parts = [
            shards.read(shard, offsets.get(shard["ShardId"], ShardOffset()), limit) for shard in readable
        ]
        if self._caught_up is not None:
            self._caught_up |= {part.shard for part in parts if part.caught_up}
        ends = offsets | {part.shard: part.end for part in parts if part.end != ShardOffset()}
        end = {**start, "shards": {shard: asdict(offset) for shard, offset in ends.items()}}
        self._prefetched = (start, end, parts)
        return end

    def _read_again(self, client: Any, start: Offset, end: Offset) -> list[ShardRecords]:
        """Read the records of an epoch that an earlier run has planned."""
        shards, before = Shards(client, self._options.stream, start["start"]), _shard_offsets(start)
        try:
            return [
                shards.read_range(name, before.get(name, ShardOffset()), offset)
                for name, offset in _shard_offsets(end).items()
            ]
        except LookupError as error:
            hint = (
                "raise the retention period of the stream; to continue without them, start over with --fresh"
            )
            raise SourceError(f"an interrupted epoch cannot be read again: {error}", hint=hint) from error


def _shard_offsets(offset: Offset) -> dict[str, ShardOffset]:
    return {shard: ShardOffset(**part) for shard, part in offset["shards"].items()}


def _encode(part: ShardRecords) -> bytes:
    records: Sequence[Mapping[str, Any]] = part.records
    numbers = range(part.first, part.first + len(records))
    columns = [
        [record["Data"] for record in records],
        [part.shard] * len(records),
        list(numbers),
        [record["PartitionKey"] for record in records],
        [record["SequenceNumber"] for record in records],
        [record.get("ApproximateArrivalTimestamp") for record in records],
    ]
    return encode_split(_SCHEMA, columns)
