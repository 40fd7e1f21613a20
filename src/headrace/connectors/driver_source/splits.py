"""Reads splits in tasks; a split may hold its rows, if only the driver can read the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

_Batches = Iterator["RecordBatch"]


def encode_split(schema: Schema, columns: Iterable[Sequence[Any]]) -> bytes:
    """Return a split that holds rows, given by their columns, as an Arrow IPC stream."""
    arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue())


def decode_split(split: bytes) -> _Batches:
    """Return the rows that a split holds."""
    with pyarrow.ipc.open_stream(split) as rows:
        yield from rows


def split_reader(read: Callable[[bytes], _Batches]) -> Callable[[_Batches], _Batches]:
    """Return the function, for `mapInArrow`, that reads each split of a task."""

    def read_splits(batches: _Batches) -> _Batches:
        for batch in batches:
            for split in batch.column(0).to_pylist():
                yield from read(split)

    return read_splits
