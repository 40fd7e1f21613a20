"""Dead letters of functions: an input row with the reason of its failure, encoded in one binary column."""

from __future__ import annotations

import pyarrow

from headrace.functions.failures import REASON, TRACEBACK, Failure, dead_letter_names

FAILED = "__failed"
"""The column that carries the dead letter of a row."""
ROW = "__row"
"""The column that carries the number in the task of a row that failed."""


def encode_dead_letter(row: pyarrow.RecordBatch, failure: Failure) -> bytes:
    """Return a row of one step's input with reason and traceback, as an Arrow stream."""
    columns = [*row.columns, pyarrow.array([failure.reason]), pyarrow.array([failure.traceback])]
    names = [*dead_letter_names(row.schema.names), REASON, TRACEBACK]
    batch = pyarrow.RecordBatch.from_arrays(columns, names=names)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def decode_dead_letter(payload: bytes) -> pyarrow.RecordBatch:
    """Return the row of `encode_dead_letter`."""
    with pyarrow.ipc.open_stream(payload) as reader:
        return reader.read_next_batch()
