"""Reads a Delta table: the driver plans the files of an epoch, and each task reads one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import ReadContext
from headrace.connectors.delta.enumerator import VersionEnumerator
from headrace.connectors.delta.location import Location
from headrace.connectors.delta.log import AddedFile, snapshot_files
from headrace.connectors.driver_source.source import DriverReader
from headrace.connectors.driver_source.splits import split_reader
from headrace.connectors.flatten import position_column, quote_name
from headrace.connectors.retry import portable_errors, server_errors
from headrace.errors import SourceError, did_you_mean

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.delta import DeltaLake

_FILE, _ROW = "__file", "__row"


class DeltaReader(DriverReader):
    """Reads one table. Columns have the types of the source's schema or, without one, those of the table."""

    def __init__(self, options: DeltaLake) -> None:
        super().__init__()
        self._options, self._location = options, options.location

    def stream(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        table = self._describe(context)
        splits = self.splits(spark, context.source, VersionEnumerator(self._options, context.source))
        return self._read(splits, table, context, position_column(context.source, _FILE, _ROW))

    def batch(self, spark: SparkSession, context: ReadContext) -> DataFrame:
        if self._options.start == "latest":
            raise SourceError(
                "a batch that starts with later rows is empty",
                where=context.source,
                hint="start with the earliest rows",
            )
        table = self._describe(context)
        with self._errors(context):
            files = snapshot_files(self._location)
        splits = spark.createDataFrame([(bytearray(file.encode()),) for file in files], "split binary")
        return self._read(splits.repartition(max(1, len(files))), table, context)

    def _read(self, splits: DataFrame, table: TableColumns, context: ReadContext, *others: str) -> DataFrame:
        from pyspark.sql.types import LongType, StringType, StructType

        fields = [field for field in table.schema["fields"] if field["name"] in table.types]
        columns = StructType.fromJson({"type": "struct", "fields": fields})
        columns = columns.add(_FILE, StringType()).add(_ROW, LongType())
        names = tuple(field["name"] for field in fields)
        read = FileReader(self._location, table.arrow, names, context.source)
        casts = (f"cast({quote_name(n)} as {kind}) as {quote_name(n)}" for n, kind in table.types.items())
        return splits.mapInArrow(split_reader(read), columns).selectExpr(*casts, *others)

    def _describe(self, context: ReadContext) -> TableColumns:
        """Return the columns of the table that the source reads."""
        import pyarrow

        with self._errors(context):
            schema = self._location.load_table().schema()
        columns = json.loads(schema.to_json())
        names = [field["name"] for field in columns["fields"]]
        wanted = {field.name: str(field.type) for field in context.schema.fields} if context.schema else {}
        for name in wanted:
            if name not in names:
                what = f"the table {self._location.address} has no column `{name}`"
                raise SourceError(what, where=context.source, hint=did_you_mean(name, names))
        return TableColumns(columns, pyarrow.schema(schema.to_arrow()), wanted or _spark_types(columns))

    def _errors(self, context: ReadContext) -> AbstractContextManager[None]:
        action = f"the Delta table {self._location.address} cannot be read: "
        return server_errors(self._location, SourceError, action, where=context.source)


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table, as Spark's JSON and in Arrow, and the types to cast the wanted ones to."""

    schema: Any
    arrow: Any
    types: dict[str, str]


@dataclass(frozen=True)
class FileReader:
    """Reads the rows of one file, on an executor, with their position.

    Args:
        location: the table.
        schema: the Arrow schema of the table; columns that an older file lacks are null.
        columns: the columns to read.
        where: the source, for errors.
    """

    location: Location
    schema: Any
    columns: tuple[str, ...]
    where: str

    def __call__(self, content: bytes) -> Iterator[RecordBatch]:
        with portable_errors(self.location, self.where):
            yield from self._read(AddedFile.decode(content))

    def _read(self, file: AddedFile) -> Iterator[RecordBatch]:
        import pyarrow
        from pyarrow import dataset

        stored = pyarrow.schema([field for field in self.schema if field.name not in file.partition])
        fragment = dataset.ParquetFileFormat().make_fragment(file.path, filesystem=self.location.open_files())
        first = 0
        names = [name for name in self.columns if name not in file.partition]
        for batch in fragment.to_batches(schema=stored, columns=names):
            rows = batch.num_rows
            arrays = [
                self._partition_column(name, file.partition[name], rows)
                if name in file.partition
                else batch.column(name)
                for name in self.columns
            ]
            positions = [pyarrow.repeat(file.path, rows), pyarrow.array(range(first, first + rows))]
            yield pyarrow.record_batch([*arrays, *positions], names=[*self.columns, _FILE, _ROW])
            first += rows

    def _partition_column(self, name: str, value: str | None, rows: int) -> Any:
        """Return a partition column; an empty text is null, as the protocol of Delta defines."""
        import pyarrow

        text = pyarrow.repeat(pyarrow.scalar(value or None, pyarrow.string()), rows)
        return text.cast(self.schema.field(name).type)


def _spark_types(schema: Any) -> dict[str, str]:
    from pyspark.sql.types import StructType

    return {field.name: field.dataType.simpleString() for field in StructType.fromJson(schema).fields}
