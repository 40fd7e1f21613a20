"""Reads a table of a database: whole, for lookups and batches, or as a stream, by a column that grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pyarrow

from headrace.connectors.base import ReadContext
from headrace.connectors.driver_source.source import Following
from headrace.connectors.sql.dialect import Database, Readable
from headrace.connectors.sql.patience import connected, told_by_task
from headrace.connectors.sql.poller import Poller
from headrace.connectors.sql.polling import Piece, Polled, Polling
from headrace.errors import SourceError, did_you_mean
from headrace.schemas.datatypes import quoted

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

_CHUNK = 10_000


class TableReader:
    """Reads a table. Columns have the database's types, or those of the schema, if there is one."""

    def __init__(self, dialect: Readable, table: str, polling: Polling | None = None) -> None:
        self._dialect = dialect
        self._table = table
        self._polling = polling
        self._following = Following()

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._polling is None:
            raise SourceError(
                f"a table of {self._dialect.kind} doesn't tell what is new, so it can't be read as a stream",
                where=context.source,
                hint="name a column that grows with every row, cursor=..., or use the table in a lookup",
            )
        with self._told(context), closing(self._dialect.connect()) as database:
            polled, kinds, wanted = self._looked_at(database, context)
        poller = Poller(context.source, polled, self._polling)
        pieces = self._following.pieces(spark, context.source, poller)
        read = _read(polled, self._polling.patience, context.source)
        frame = pieces.mapInArrow(read, f"{_texts(wanted)}, __piece string, __number bigint")
        place = f"struct('{context.source}' as source, __piece as partition, __number as offset)"
        return _typed(frame, kinds, wanted, f"{place} as __position")

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._polling is not None and self._polling.start == "latest":
            raise SourceError(
                "a batch that starts at the latest row is empty",
                where=context.source,
                hint="start at the earliest, or at a value",
            )
        with self._told(context), closing(self._dialect.connect()) as database:
            polled, kinds, wanted = self._looked_at(database, context)
            rows = polled.all_rows(database, self._polling.first if self._polling else {"after": None})
        # As text, which both sides read alike; Spark gives each column its type.
        return _typed(spark.createDataFrame(rows, _texts(wanted)), kinds, wanted)

    def available(self) -> None:
        self._following.available()

    def close(self) -> None:
        self._following.close()

    def _looked_at(
        self, database: Database, context: ReadContext
    ) -> tuple[Polled, dict[str, str], dict[str, str]]:
        """The table's queries, the types of its columns in Spark, and those that are wanted."""
        there = self._dialect.columns(database, self._table)
        if not there:
            raise SourceError(
                f"there is no table `{self._table}` at {self._dialect.place}",
                where=context.source,
                hint="name one that is there, with its schema if it isn't in the user's own",
            )
        growing = self._polling.growing if self._polling else next(iter(there))
        kinds = {name: self._dialect.spark_type(declared) for name, (declared, _) in there.items()}
        fields = context.schema.fields if context.schema is not None else ()
        for name in (*(column.name for column in fields), growing):
            if name not in there:
                what = f"the table `{self._table}` has no column `{name}`"
                raise SourceError(what, where=context.source, hint=did_you_mean(name, list(there)))
        wanted = {column.name: str(column.type) for column in fields} or kinds
        columns = tuple((name, kinds[name] == "binary") for name in wanted)
        return Polled(self._dialect, self._table, growing, there[growing][0], columns), kinds, wanted

    @contextmanager
    def _told(self, context: ReadContext) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            told = self._dialect.told(error)
            if told is None:
                raise
            what = f"the table `{self._table}` at {self._dialect.place} can't be read: {told[0]}"
            raise SourceError(what, where=context.source, hint=told[1]) from error


def _read(
    polled: Polled, patience: float, where: str
) -> Callable[[Iterator[RecordBatch]], Iterator[RecordBatch]]:
    """What a task does with its piece; runs on an executor."""

    def read(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        for batch in batches:
            for content in batch.column(0).to_pylist():
                yield from _batches(polled, patience, where, Piece.of(content))

    return read


def _batches(polled: Polled, patience: float, where: str, piece: Piece) -> Iterator[RecordBatch]:
    with told_by_task(polled.dialect, where), connected(polled.dialect, patience) as database:
        rows = polled.rows(database, piece)
    texts = [(name, pyarrow.string()) for name in (*polled.names, "__piece")]
    schema = pyarrow.schema([*texts, ("__number", pyarrow.int64())])
    for first in range(0, len(rows), _CHUNK):
        columns = list(zip(*rows[first : first + _CHUNK], strict=True))
        size = len(columns[0])
        places = [f"{piece.number:06d}"] * size, range(first, first + size)
        given = zip([*columns, *places], schema, strict=True)
        arrays = [pyarrow.array(values, column.type) for values, column in given]
        yield pyarrow.record_batch(arrays, schema=schema)


def _texts(wanted: dict[str, str]) -> str:
    return ", ".join(f"{quoted(name)} string" for name in wanted)


def typed(value: str, there: str, kind: str) -> str:
    """The SQL of a text from a database as a value of Spark's type."""
    return f"cast({f'unhex({value})' if there == 'binary' else value} as {kind})"


def _typed(frame: DataFrame, there: dict[str, str], wanted: dict[str, str], *others: str) -> DataFrame:
    columns = (f"{typed(quoted(name), there[name], kind)} as {quoted(name)}" for name, kind in wanted.items())
    return frame.selectExpr(*columns, *others)
