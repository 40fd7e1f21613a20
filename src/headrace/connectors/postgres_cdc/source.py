"""Reads the changes of a table as a stream: first the snapshot, then whole transactions."""

from __future__ import annotations

import re
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext
from headrace.connectors.driver_source.source import DriverReader
from headrace.connectors.driver_source.splits import decode_split, split_reader
from headrace.connectors.postgres_cdc import slot
from headrace.connectors.postgres_cdc.enumerator import CdcEnumerator
from headrace.connectors.postgres_cdc.replicated_table import describe_table
from headrace.connectors.postgres_cdc.rows import select_source_columns, snapshot_rows, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.postgres_cdc import PostgresCdc


class CdcReader(DriverReader):
    """Reads one table."""

    def __init__(self, options: PostgresCdc) -> None:
        super().__init__()
        self._options = options

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        table, types = describe_table(self._options, context, self._slot(context))
        splits = self.splits(spark, context.source, CdcEnumerator(table))
        rows = splits.mapInArrow(split_reader(decode_split), spark_schema(table))
        return select_source_columns(rows, table, types)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        """Return the current rows, as the snapshot of a new checkpoint."""
        table, types = describe_table(self._options, context, self._slot(context))
        with closing(table.dialect.connect()) as session:
            rows = session.rows(f"SELECT {table.select_list} FROM {table.target}")
            snapshot = snapshot_rows(table, rows, 0, slot.current(session))
        return select_source_columns(spark.createDataFrame(snapshot, spark_schema(table)), table, types)

    def _slot(self, context: ReadContext) -> str:
        """Return the slot's name: at most 63 characters that the server allows."""
        if self._options.slot is not None:
            return self._options.slot
        plain = re.sub(r"[^a-z0-9_]", "_", f"headrace_{context.pipeline}_{context.source}".lower())
        digest = sha256(f"{context.pipeline}\n{context.source}".encode()).hexdigest()[:6]
        return plain if len(plain) <= 63 else f"{plain[:56]}_{digest}"
