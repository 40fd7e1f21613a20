"""Splits that hold their rows, as Arrow IPC streams: for sources that only the driver reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema


def encode_split(schema: Schema, columns: Iterable[Sequence[Any]]) -> bytes:
    """Return the columns of some rows as a split."""
    arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue())


def decode_splits(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    """Return the rows of the splits of a task; for `mapInArrow`."""
    for batch in batches:
        for content in batch.column(0).to_pylist():
            with pyarrow.ipc.open_stream(content) as rows:
                yield from rows
