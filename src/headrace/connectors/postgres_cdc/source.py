"""Reads the changes of a table as a stream: first the rows that are there, then whole transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow

from headrace.connectors.base import ReadContext
from headrace.connectors.driver_source.source import Following
from headrace.connectors.postgres_cdc import slot
from headrace.connectors.postgres_cdc.log import ChangeLog
from headrace.connectors.postgres_cdc.rows import first_rows, layout, shaped
from headrace.connectors.postgres_cdc.table import looked_at

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.postgres_cdc import PostgresCdc


class ChangesReader:
    """Reads one table."""

    def __init__(self, options: PostgresCdc) -> None:
        self._options = options
        self._following = Following()

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        followed, kinds, wanted = looked_at(self._options, context, self._slot(context))
        pieces = self._following.pieces(spark, context.source, ChangeLog(followed))
        frame = pieces.mapInArrow(_read, layout(followed))
        return shaped(frame, followed, kinds, wanted, self._options.before)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """The rows there are now, as a new checkpoint would begin with."""
        followed, kinds, wanted = looked_at(self._options, context, self._slot(context))
        texts = ", ".join(followed.dialect.as_text(name, binary) for name, binary in followed.columns)
        with closing(followed.dialect.connect()) as database:
            rows = database.rows(f"SELECT {texts} FROM {followed.target}")
            given = first_rows(followed, rows, 0, slot.current(database))
        frame = spark.createDataFrame(given, layout(followed))
        return shaped(frame, followed, kinds, wanted, self._options.before)

    def available(self) -> None:
        self._following.available()

    def close(self) -> None:
        self._following.close()

    def _slot(self, context: ReadContext) -> str:
        """The slot's name: 63 letters at most, of those that the server takes."""
        if self._options.slot is not None:
            return self._options.slot
        plain = re.sub(r"[^a-z0-9_]", "_", f"headrace_{context.pipeline}_{context.source}".lower())
        mark = sha256(f"{context.pipeline}\n{context.source}".encode()).hexdigest()[:6]
        return plain if len(plain) <= 63 else f"{plain[:56]}_{mark}"


def _read(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    """What a task does with its pieces: the slot has one reader, on the driver, so they are the rows themselves."""
    for batch in batches:
        for content in batch.column(0).to_pylist():
            with pyarrow.ipc.open_stream(content) as rows:
                yield from rows
