"""Decode records with the kernel's expression; collect those that cannot be decoded as dead letters.

The expression is marked non-deterministic, so that Spark evaluates it once per record that a job reads. It
returns null for a record that cannot be decoded; the row is filtered out, and its dead letter is in
`DeadLetters` when the job has ended. A dead letter that was collected twice is returned once.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headrace.errors import DecodeError, SourceError
from headrace.formats import Format, Schema
from headrace.lowering.expressions import POSITION
from headrace.schemas.datatypes import quote_name
from headrace.spark.gateway import java_column, java_session, kernel
from headrace.steps.endpoints.source import OnError

DEAD_LETTER_BYTES = 64 * 2**20
_RECORD = ("value", "partition", "offset")
_DECODED = "__decoded"
_METADATA = "__metadata"
_FAILED = re.compile(r"DecodeFailure: (source `.*?`, partition .*?, position -?\w+): (.*)")


@dataclass(frozen=True)
class DeadLetters:
    """The dead letters of one source since the last `take`.

    With `on_error="skip"` there is only `count`, with `"fail"` there are none.
    """

    source: str
    _spark: SparkSession
    collector: Any
    _convert: Callable[[DataFrame], DataFrame] | None = None
    """Decodes the collected rows; the dead letters of functions are encoded."""

    @property
    def count(self) -> int:
        """Return the number of dead letters with distinct positions."""
        return int(self.collector.count(java_session(self._spark)))

    def take(self) -> DataFrame:
        """Return and clear the dead letters: record, reason, field, and the position that it was read from.

        Above 64 MiB they are in spilled files, which the next `reset` deletes.
        """
        rows = DataFrame(self.collector.take(java_session(self._spark)), self._spark)
        return rows if self._convert is None else self._convert(rows)

    def reset(self) -> None:
        """Drop the dead letters of a failed epoch and the spilled files of the previous one."""
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
    """Return the decoded rows of `frame`, and its dead letters.

    Args:
        spark: the session.
        frame: has `value binary, partition string, offset bigint` and other columns, which are kept; a struct
            `__metadata` is expanded.
        format: the format of the records.
        schema: the columns; default: those of the format.
        on_error: `fail` fails the job (see `as_source_error`), `skip` counts, `divert` collects.
        source: the name of the source.
        dead_letter_bytes: size above which the dead letters of an epoch are spilled to files.
        spill_directory: directory of these files, shared by tasks and driver; default: a temporary one.

    Returns:
        Rows with the columns of the schema, the kept columns and `__position struct<source, partition,
        offset>`; and the dead letters, which are complete when a job over the rows has ended.
    """
    columns = format.check_schema(schema, where=f"source `{source}`")
    classes = kernel(spark).decode
    directory = Path(
        spill_directory or Path(tempfile.gettempdir()) / f"headrace-{uuid.uuid4().hex}"
    ).absolute()
    collector = classes.DeadLetterCollector.open(
        java_session(spark), source, dead_letter_bytes, on_error == "skip", str(directory)
    )
    column = classes.Decode.column(
        format.name,
        columns.ddl,
        format.decoder_options(columns),
        on_error,
        collector,
        *(java_column(F.col(c)) for c in _RECORD),
    )
    position = F.struct(F.lit(source).alias("source"), "partition", "offset").alias(POSITION)
    kept = [name for name in frame.columns if name not in _RECORD]
    columns_kept = [F.col(quote_name(name)) for name in kept]
    rows = frame.select(Column(column).alias(_DECODED), *columns_kept, position).where(
        F.col(_DECODED).isNotNull()
    )
    # Metadata is a struct, because a metadata column may be called `partition` or `offset`.
    others = [f"{_METADATA}.*" if name == _METADATA else quote_name(name) for name in kept]
    return rows.select(f"{_DECODED}.*", *others, POSITION), DeadLetters(source, spark, collector)


def as_source_error(error: BaseException) -> SourceError | None:
    """Return a `DecodeError` if a Spark job failed because of a record that cannot be decoded."""
    text = str(error)
    if failed := _FAILED.search(text):
        hint = 'on_error="divert" sends such records to the source\'s `dead_letters` and continues'
        return DecodeError(failed[2], where=failed[1], hint=hint)
    return None
