"""Reads the shards of a stream between sequence numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

Record = Mapping[str, Any]
"""A record as the service returns it."""
MAX_RECORDS = 10_000
"""The maximum number of records per response."""
_PAUSE_SECONDS = 0.2
"""The service allows 5 reads per second and shard."""


@dataclass(frozen=True)
class ShardOffset:
    """How far a shard has been read.

    Args:
        after: the sequence number of the last record; empty if none has been read.
        count: the number of records read, which numbers the rows.
        exhausted: True if the shard is closed and has no more records.
    """

    after: str = ""
    count: int = 0
    exhausted: bool = False


@dataclass(frozen=True)
class ShardRecords:
    """Consecutive records of a shard."""

    shard: str
    first: int
    """The number of the first record."""
    records: Sequence[Record]
    end: ShardOffset
    caught_up: bool
    """True if there were no more records at that time."""


class Shards:
    """The shards of one stream."""

    def __init__(self, client: Any, stream: str, start: str) -> None:
        self._client, self._stream, self._start = client, stream, start

    def list(self) -> dict[str, Mapping[str, Any]]:
        """Return the descriptions of all shards, by id."""
        pages = self._client.get_paginator("list_shards").paginate(StreamName=self._stream)
        return {shard["ShardId"]: shard for page in pages for shard in page["Shards"]}

    def read(self, shard: Mapping[str, Any], offset: ShardOffset, limit: int) -> ShardRecords:
        """Return the records after an offset, at most `limit`; none if there are none yet.

        The service may return no records although later ones exist, so it is read until it returns some or
        reports the end.
        """
        closed = "EndingSequenceNumber" in shard["SequenceNumberRange"]
        iterator, limit = self._iterator(shard["ShardId"], offset), min(limit, MAX_RECORDS)
        while True:
            response = self._client.get_records(ShardIterator=iterator, Limit=limit)
            records, iterator = response["Records"], response.get("NextShardIterator")
            at_tip = not response.get("MillisBehindLatest", 0) and len(records) < limit
            if records or at_tip or iterator is None:
                break
            time.sleep(_PAUSE_SECONDS)
        end = _advance(offset, records, exhausted=iterator is None or (closed and at_tip))
        return ShardRecords(shard["ShardId"], offset.count, records, end, at_tip or iterator is None)

    def read_range(self, shard: str, start: ShardOffset, end: ShardOffset) -> ShardRecords:
        """Return the records between two offsets, which an earlier run has read.

        Raises:
            LookupError: the stream no longer retains all of them.
        """
        records: list[Record] = []
        iterator = self._iterator(shard, start)
        wanted = end.count - start.count
        while len(records) < wanted and iterator is not None:
            limit = min(wanted - len(records), MAX_RECORDS)
            response = self._client.get_records(ShardIterator=iterator, Limit=limit)
            records += response["Records"]
            iterator = response.get("NextShardIterator")
            if not response["Records"] and not response.get("MillisBehindLatest", 0):
                break
        if wanted and (len(records) < wanted or records[-1]["SequenceNumber"] != end.after):
            raise LookupError(f"shard {shard} has lost records up to {end.after}")
        return ShardRecords(shard, start.count, records, end, caught_up=False)

    def _iterator(self, shard: str, offset: ShardOffset) -> str:
        """Return the iterator after an offset; for an unread shard, the one at the start of the source."""
        kind: dict[str, Any] = {"ShardIteratorType": "TRIM_HORIZON"}
        if offset.after:
            kind = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "StartingSequenceNumber": offset.after,
            }
        elif self._start != "earliest":
            kind = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": datetime.fromisoformat(self._start)}
        response = self._client.get_shard_iterator(StreamName=self._stream, ShardId=shard, **kind)
        return str(response["ShardIterator"])


def _advance(offset: ShardOffset, records: Sequence[Record], *, exhausted: bool) -> ShardOffset:
    if records:
        offset = ShardOffset(records[-1]["SequenceNumber"], offset.count + len(records))
    return replace(offset, exhausted=exhausted)


def readable_shards(
    shards: Mapping[str, Mapping[str, Any]], offsets: Mapping[str, ShardOffset]
) -> list[Mapping[str, Any]]:
    """Return the shards to read next: not exhausted, and all parents are exhausted or no longer retained.

    >>> parent, child = {"ShardId": "a"}, {"ShardId": "b", "ParentShardId": "a"}
    >>> [shard["ShardId"] for shard in readable_shards({"a": parent, "b": child}, {})]
    ['a']
    """

    def is_exhausted(shard: str) -> bool:
        return shard not in shards or (shard in offsets and offsets[shard].exhausted)

    return [
        shard
        for name, shard in shards.items()
        if not is_exhausted(name)
        and all(is_exhausted(shard.get(parent, "")) for parent in ("ParentShardId", "AdjacentParentShardId"))
    ]
