"""Reads files with Spark's file source; every epoch reads the new files."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.files.store import HadoopStore, local_path, spark_path
from headrace.connectors.flatten import position_column
from headrace.errors import SourceError
from headrace.formats import Format
from headrace.spark.gateway import kernel
from headrace.spark.watched_files import watch_files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.connectors.files import Files

_FOREVER = "36500d"
"""Spark's default silently skips files a week older than the newest."""


class FilesReader:
    """Reads a directory, a file or a glob; lines as bytes with their position, Parquet as rows."""

    def __init__(self, options: Files) -> None:
        self._options = options
        self._path = spark_path(str(options.path))

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        self._check_exists(spark, context)
        reader = spark.readStream.option("maxFileAge", _FOREVER)
        if self._options.max_files_per_batch is not None:
            reader = reader.option("maxFilesPerTrigger", self._options.max_files_per_batch)
        return self._load(spark, reader, context, streaming=True)

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        self._check_exists(spark, context)
        return self._load(spark, spark.read, context, streaming=False)

    def close(self) -> None:
        """Do nothing: the reader holds no resources."""

    def _load(self, spark: SparkSession, reader: Any, context: ReadContext, *, streaming: bool) -> DataFrame:
        chosen = context.format or self._options.encoding
        if chosen is not None and chosen.of_rows:
            return self._rows(spark, reader, context, chosen)
        reader = reader.option("recursiveFileLookup", "true")
        return lines(spark, reader, self._path, streaming=streaming)

    def _rows(self, spark: SparkSession, reader: Any, context: ReadContext, chosen: Format) -> DataFrame:
        schema = context.schema or self._options.schema_known
        ddl = schema.ddl if schema is not None else spark.read.format(chosen.name).load(self._path).schema
        rows: DataFrame = reader.schema(ddl).format(chosen.name).load(self._path)
        return rows.selectExpr(
            "*", position_column(context.source, "_metadata.file_path", "_metadata.row_index")
        )

    def _check_exists(self, spark: SparkSession, context: ReadContext) -> None:
        """Fail early if the path does not exist; a directory may be empty, and a glob may match later."""
        if glob.has_magic(self._path):
            return
        local = local_path(self._path)
        exists = local.exists() if local is not None else HadoopStore(spark, self._path).exists(self._path)
        if not exists:
            raise SourceError(
                f"no such file or directory: {self._options.path}",
                where=context.source,
                hint=self._options.create_hint,
            )


def lines(spark: SparkSession, reader: Any, path: str, *, streaming: bool = False) -> DataFrame:
    """Return the lines of text files as bytes: `value`, `partition` (the file) and `offset`."""
    reader = reader.schema("value string")
    text = watch_files(reader, "text", path) if streaming else reader.format("text").load(path)
    records: DataFrame = text.select(text.value.cast("binary").alias("value"), _position(spark))
    return records.select("value", "at.partition", "at.offset")


def _position(spark: SparkSession) -> Column:
    """Return file and line of the current row; must be evaluated directly above the scan."""
    from pyspark.sql.classic.column import Column

    return Column(kernel(spark).decode.FilePosition.column()).alias("at")
