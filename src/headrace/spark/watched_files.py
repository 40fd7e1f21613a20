"""Streams of files whose directory is listed only when it has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamReader

_PROVIDER = "org.apache.spark.sql.headrace.sources.WatchedFilesProvider"


def watch_files(reader: DataStreamReader, files: str, path: str) -> DataFrame:
    """Return the files of a path, in a format of Spark, as a stream.

    Spark's own file source lists a directory at every poll, also while nothing happens. The format must not
    need the column `_metadata`, which only Spark's own source has, and the reader must have a schema.

    Args:
        reader: the schema and the options of the format.
        files: Spark's name of the format.
        path: where the files are; directories with the scheme `file` are watched, others are listed.
    """
    return reader.format(_PROVIDER).option("files", files).load(path)
