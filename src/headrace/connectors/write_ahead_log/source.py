"""Reads a write-ahead log as a stream of bytes, with the metadata of the messages."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.connectors.base import ReadContext, Reception
from headrace.connectors.driver_source.source import DriverReader
from headrace.connectors.flatten import literal, quote_name
from headrace.connectors.options import bytes_of
from headrace.connectors.write_ahead_log.enumerator import LogEnumerator
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.errors import DamagedFileError, HeadraceError, SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.write_ahead_log.options import LoggedSource


class LogReader(DriverReader):
    """Starts the receiver of a source and reads its log."""

    def __init__(self, options: LoggedSource) -> None:
        super().__init__()
        self._options = options
        self._log: WriteAheadLog | None = None

    def reception(self) -> Reception | None:
        return None if self._log is None else self._log.reception()

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        enumerator = self._open(context)
        records = self.log_records(spark, context.source, enumerator)
        return records.selectExpr("value", "'log' as partition", "offset", *self._metadata())

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        raise SourceError(
            f"{self._options.kind} has no end, so it cannot be read as a batch",
            where=context.source,
            hint="write the messages to files or a table, and read those",
        )

    def _open(self, context: ReadContext) -> LogEnumerator:
        options = self._options
        settings = LogSettings(bytes_of(options.log_limit), options.overflow, options.fsync)
        try:
            messages = WriteAheadLog(Path(context.directory) / "log", settings)
            receiver = options.receiver(context)
            try:
                receiver.start(messages)
            except BaseException:
                messages.close()
                with suppress(Exception):
                    receiver.stop()
                raise
        except DamagedFileError:
            raise
        except HeadraceError as error:
            where = error.where or context.source
            raise SourceError(error.what, where=where, hint=error.hint) from error
        self._log = messages
        return LogEnumerator(messages, receiver, context.source, options.max_per_batch)

    def _metadata(self) -> list[str]:
        """Return the expression of the metadata columns: fields of a JSON object, except `received_at`."""
        parsed = [name for name in self._options.selected_metadata if name != "received_at"]
        types = (f"{quote_name(name)} {self._options.metadata_types[name]}" for name in parsed)
        fields = f"from_json(metadata, {literal(', '.join(types))})"
        return self._options.metadata_struct({name: f"{fields}.{quote_name(name)}" for name in parsed})
