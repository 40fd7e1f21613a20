"""Bytes to rows by the kernel's decode expression, and the records that do not decode.

The expression is non-deterministic in Spark's sense, so it is evaluated exactly once for each record that a
job reads. It gives null for a record that does not decode; that row is filtered out here, and its dead letter
is in `DeadLetters` by the time the job has ended. A job that reads the frame twice collects the same dead
letters twice; `DeadLetters.take` returns each once.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from headrace.errors import DecodeError, SourceError
from headrace.formats import Format, Schema
from headrace.schemas.datatypes import quote_name
from headrace.spark.gateway import java_column, java_session, kernel

OnError = Literal["fail", "skip", "divert"]
DEAD_LETTER_BYTES = 64 * 2**20
_RECORD = ("value", "partition", "offset")
_DECODED = "__decoded"
_METADATA = "__metadata"
_FAILED = re.compile(r"DecodeFailure: (source `.*?`, partition .*?, position -?\w+): (.*)")


@dataclass(frozen=True)
class DeadLetters:
    """The records of one source that did not decode since the last `take`.

    One epoch's, if taken in each epoch.

    With `on_error="skip"` there is only `count`, with `"fail"` there are none.
    """

    source: str
    _spark: SparkSession
    collector: Any
    _convert: Callable[[DataFrame], DataFrame] | None = None
    """Applied to the collected rows; the dead letters of functions are encoded."""

    @property
    def count(self) -> int:
        """Return the number of dead letters, each position once."""
        return int(self.collector.count(java_session(self._spark)))

    def take(self) -> DataFrame:
        """Return and clear the dead letters, as rows of `headrace.formats.dead_letters.DEAD_LETTERS`.

        Above 64 MiB they are read from files, which the next `reset` deletes.
        """
        rows = DataFrame(self.collector.take(java_session(self._spark)), self._spark)
        return rows if self._convert is None else self._convert(rows)

    def reset(self) -> None:
        """Drop the dead letters of an epoch that failed, and the spilled files of the epoch before."""
        self.collector.clear()


def decode_records(
    spark: SparkSession,
    frame: DataFrame,
    *,
    format: Format,  # noqa: A002 (the word of the API)
    schema: Schema | None,
    on_error: OnError,
    source: str,
    dead_letter_bytes: int = DEAD_LETTER_BYTES,
    spill_directory: str | Path | None = None,
) -> tuple[DataFrame, DeadLetters]:
    """Return the records of `frame` as rows, and the collector of those that do not decode.

    Args:
        spark: The session.
        frame: Has `value binary, partition string, offset bigint`, and any other columns, which are kept; of
            a struct `__metadata` the fields are.
        format: How a record is written.
        schema: The columns wanted; None for the format's own.
        on_error: `fail` ends the job (see `as_source_error`), `skip` counts, `divert` collects.
        source: The source's name, for messages and dead letters.
        dead_letter_bytes: Size above which the dead letters of an epoch are spilled to files.
        spill_directory: Directory of these files, shared by tasks and driver; default: a temporary one.

    Returns:
        A frame with the schema's columns, the kept ones and `__position struct<source, partition, offset>`;
        and the dead letters, which are complete when a job over the frame has ended.
    """
    columns = format.check_schema(schema, where=f"source `{source}`")
    kernel = _kernel(spark)
    directory = Path(
        spill_directory or Path(tempfile.gettempdir()) / f"headrace-{uuid.uuid4().hex}"
    ).absolute()
    collector = kernel.DeadLetterCollector.open(
        java_session(spark), source, dead_letter_bytes, on_error == "skip", str(directory)
    )
    column = kernel.Decode.column(
        format.name,
        columns.ddl,
        format.model_dump_json(),
        on_error,
        collector,
        *(java_column(f.col(c)) for c in _RECORD),
    )
    position = f.struct(f.lit(source).alias("source"), "partition", "offset").alias("__position")
    kept = [name for name in frame.columns if name not in _RECORD]
    columns_kept = [f.col(quote_name(name)) for name in kept]
    rows = frame.select(Column(column).alias(_DECODED), *columns_kept, position).where(
        f.col(_DECODED).isNotNull()
    )
    # Metadata come as a struct, because a column of theirs may be called `partition` or `offset` too.
    others = [f"{_METADATA}.*" if name == _METADATA else quote_name(name) for name in kept]
    return rows.select(f"{_DECODED}.*", *others, "__position"), DeadLetters(source, spark, collector)


def as_source_error(error: BaseException) -> SourceError | None:
    """Return the error for the user, if a Spark job failed because of a record that does not decode."""
    text = str(error)
    if failed := _FAILED.search(text):
        hint = 'on_error="divert" sends such records to the source\'s `dead_letters` and goes on'
        return DecodeError(failed[2], where=failed[1], hint=hint)
    return None


def _kernel(spark: SparkSession) -> Any:
    return kernel(spark).decode
