"""Reads a SQLite table: whole, for lookups and batches; as a stream as other databases do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow

from headrace.connectors.base import ReadContext
from headrace.connectors.sql.source import TableReader
from headrace.connectors.sqlite.dialect import SQLiteDialect
from headrace.connectors.sqlite.tables import affinity, quoted
from headrace.errors import SourceError, did_you_mean
from headrace.schemas.datatypes import quoted as sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.sqlite import SQLite

_ARROW = {
    "INTEGER": pyarrow.int64(),
    "REAL": pyarrow.float64(),
    "NUMERIC": pyarrow.float64(),
    "BLOB": pyarrow.binary(),
    "TEXT": pyarrow.string(),
}
_CAST = {"NUMERIC": "REAL"}


class SQLiteReader:
    """Reads the whole table. Columns have the types they were declared with, or those of the schema, if there is one."""

    def __init__(self, options: SQLite) -> None:
        self._options = options
        self._follows: TableReader | None = None

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        self._follows = self._followed()
        return self._follows.stream(spark, context)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.cursor is not None:
            return self._followed().batch(spark, context)
        frame = spark.createDataFrame(self._content(context))
        if context.schema is None:
            return frame
        missing = [name for name in context.schema.names if name not in frame.columns]
        if missing:
            what = f"the table `{self._options.table}` has no column `{missing[0]}`"
            raise SourceError(what, where=context.source, hint=did_you_mean(missing[0], frame.columns))
        return frame.selectExpr(
            *(f"cast({sql_name(f.name)} as {f.type}) as {sql_name(f.name)}" for f in context.schema.fields)
        )

    def available(self) -> None:
        if self._follows is not None:
            self._follows.available()

    def close(self) -> None:
        if self._follows is not None:
            self._follows.close()

    def _followed(self) -> TableReader:
        dialect = SQLiteDialect(str(Path(str(self._options.path)).absolute()))
        return TableReader(dialect, self._options.table, self._options.polling())

    def _content(self, context: ReadContext) -> pyarrow.Table:
        path = Path(str(self._options.path))
        if not path.exists():
            raise SourceError(f"there is no database {path}", where=context.source)
        try:
            with closing(sqlite3.connect(f"file:{path.absolute()}?mode=ro", uri=True)) as database:
                return self._read(database, context)
        except sqlite3.Error as error:
            raise SourceError(f"the database {path} can't be read: {error}", where=context.source) from error

    def _read(self, database: sqlite3.Connection, context: ReadContext) -> pyarrow.Table:
        table = quoted(self._options.table)
        declared = {row[1]: affinity(row[2]) for row in database.execute(f"PRAGMA table_info({table})")}
        if not declared:
            names = [
                row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            ]
            what = f"there is no table `{self._options.table}` in {self._options.path}"
            raise SourceError(what, where=context.source, hint=did_you_mean(self._options.table, names))
        # SQLite lets any value into any column: the cast gives each column one type.
        wanted = (f"CAST({quoted(name)} AS {_CAST.get(kind, kind)})" for name, kind in declared.items())
        rows = database.execute(f"SELECT {', '.join(wanted)} FROM {table}").fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * len(declared)
        fields = pyarrow.schema([(name, _ARROW[kind]) for name, kind in declared.items()])
        return pyarrow.table(
            [pyarrow.array(values, f.type) for values, f in zip(columns, fields, strict=True)], fields
        )
