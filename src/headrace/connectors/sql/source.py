"""Reads a table: as a whole, for lookups and batches, or as a stream of new rows by a cursor column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from typing import TYPE_CHECKING

import pyarrow

from headrace.connectors.base import ReadContext
from headrace.connectors.driver_source.source import DriverReader
from headrace.connectors.driver_source.splits import split_reader
from headrace.connectors.flatten import position_column, quote_name, text_schema
from headrace.connectors.retry import connect, portable_errors
from headrace.connectors.sql.columns import cast_text, existing_columns, select_columns, source_errors
from headrace.connectors.sql.cursor import CursorSplit, CursorTable
from headrace.connectors.sql.cursor_enumerator import CursorEnumerator
from headrace.connectors.sql.dialect import Session
from headrace.errors import SourceError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.sql.options import DatabaseTable

_BATCH_ROWS = 10_000


class TableReader(DriverReader):
    """Reads a table. Columns have the types of the source's schema or, without one, those of the database."""

    def __init__(self, options: DatabaseTable) -> None:
        super().__init__()
        self._options, self._dialect, self._table = options, options.dialect(), options.table

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.cursor is None:
            raise SourceError(
                f"a {self._dialect.kind} table cannot be read as a stream without a cursor column",
                where=context.source,
                hint="name a column that increases with every row, cursor=..., or use the table in a lookup",
            )
        with self._errors(context), closing(self._dialect.connect()) as session:
            table, kinds, types = self._describe(session, context)
        splits = self.splits(spark, context.source, CursorEnumerator(context.source, table, self._options))
        read = split_reader(partial(_read_split, table, self._options.retry_seconds, context.source))
        frame = splits.mapInArrow(read, f"{text_schema(types)}, __split string, __number bigint")
        return _cast_columns(frame, kinds, types, position_column(context.source, "__split", "__number"))

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.cursor is not None and self._options.start == "latest":
            raise SourceError(
                "a batch that starts at the latest row is empty",
                where=context.source,
                hint="start at the earliest, or at a value",
            )
        with self._errors(context), closing(self._dialect.connect()) as session:
            table, kinds, types = self._describe(session, context)
            rows = table.all_rows(session, self._options.first_offset)
        # As text, in a form that both the database and Spark read; Spark casts each column to its type.
        return _cast_columns(spark.createDataFrame(rows, text_schema(types)), kinds, types)

    def _describe(
        self, session: Session, context: ReadContext
    ) -> tuple[CursorTable, dict[str, str], dict[str, str]]:
        """Return the table, the Spark types of its columns, and the types to cast them to."""
        listed = existing_columns(self._dialect, session, self._table, where=context.source)
        cursor = self._options.cursor or next(iter(listed))
        columns = {**self._dialect.hidden_columns, **listed}
        types = select_columns(
            self._dialect, self._table, columns, context.schema, required=[cursor], where=context.source
        )
        kinds = {name: self._dialect.spark_type(declared) for name, declared in columns.items()}
        selected = {name: columns[name] for name in types}
        return CursorTable(self._dialect, self._table, cursor, columns[cursor], selected), kinds, types

    def _errors(self, context: ReadContext) -> AbstractContextManager[None]:
        return source_errors(self._dialect, f"the table `{self._table}`", where=context.source)


def _read_split(
    table: CursorTable, retry_timeout: float, where: str, content: bytes
) -> Iterator[RecordBatch]:
    """Return the rows of a split, on an executor, as text with their position."""
    split = CursorSplit.decode(content)
    with portable_errors(table.dialect, where), connect(table.dialect, retry_timeout) as session:
        rows = table.rows(session, split)
    texts = [(name, pyarrow.string()) for name in (*table.columns, "__split")]
    schema = pyarrow.schema([*texts, ("__number", pyarrow.int64())])
    for first in range(0, len(rows), _BATCH_ROWS):
        columns = list(zip(*rows[first : first + _BATCH_ROWS], strict=True))
        size = len(columns[0])
        positions = [f"{split.number:06d}"] * size, range(first, first + size)
        pairs = zip([*columns, *positions], schema, strict=True)
        arrays = [pyarrow.array(values, column.type) for values, column in pairs]
        yield pyarrow.record_batch(arrays, schema=schema)


def _cast_columns(frame: DataFrame, kinds: dict[str, str], types: dict[str, str], *others: str) -> DataFrame:
    columns = (
        f"{cast_text(quote_name(name), kinds[name], kind)} as {quote_name(name)}"
        for name, kind in types.items()
    )
    return frame.selectExpr(*columns, *others)
