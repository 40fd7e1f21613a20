"""Reads a table of a database server for lookups."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext
from headrace.connectors.database.dialect import Dialect, qualified
from headrace.errors import SourceError, did_you_mean
from headrace.formats.datatypes import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableReader:
    """Reads the whole table, on the driver. Columns have the database's types, or those of the schema, if there is one."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        self._dialect = dialect
        self._table = table

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        raise SourceError(
            f"a table of {self._dialect.kind} doesn't tell what is new, so it can't be read as a stream",
            where=context.source,
            hint="use it in a lookup",
        )

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        try:
            frame = self._read(spark, context)
        except Exception as error:
            told = self._dialect.told(error)
            if told is None:
                raise
            what = f"the table `{self._table}` at {self._dialect.place} can't be read: {told[0]}"
            raise SourceError(what, where=context.source, hint=told[1]) from error
        return frame

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        with closing(self._dialect.connect()) as database:
            there = self._dialect.columns(database, self._table)
            if not there:
                raise SourceError(
                    f"there is no table `{self._table}` at {self._dialect.place}",
                    where=context.source,
                    hint="name one that is there, with its schema if it isn't in the user's own",
                )
            kinds = {name: self._dialect.spark_type(declared) for name, (declared, _) in there.items()}
            wanted = kinds if context.schema is None else self._chosen(context, kinds)
            texts = ", ".join(self._dialect.as_text(name, kinds[name] == "binary") for name in wanted)
            target = qualified(self._dialect, self._table)
            rows = database.rows(f"SELECT {texts} FROM {target}")
        # As text, which both sides read alike; Spark gives each column its type.
        plain = spark.createDataFrame(rows, ", ".join(f"{quoted(name)} string" for name in wanted))
        return plain.selectExpr(*(_typed(name, kinds[name], kind) for name, kind in wanted.items()))

    def _chosen(self, context: ReadContext, there: dict[str, str]) -> dict[str, str]:
        fields = context.schema.fields if context.schema is not None else ()
        for name in (field.name for field in fields):
            if name not in there:
                what = f"the table `{self._table}` has no column `{name}`"
                raise SourceError(what, where=context.source, hint=did_you_mean(name, list(there)))
        return {field.name: str(field.type) for field in fields}


def _typed(name: str, there: str, wanted: str) -> str:
    column = quoted(name)
    value = f"unhex({column})" if there == "binary" else column
    return f"cast({value} as {wanted}) as {column}"
