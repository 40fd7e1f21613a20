"""The inputs of a lowering: sources read as streams or as batches, and lookup tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.connectors.base import Acknowledging, Connector, ReadContext
from headrace.lowering.code.functions import collector_of
from headrace.lowering.decode import DeadLetters, decode_records
from headrace.lowering.event_times import check_event_time, set_time
from headrace.lowering.expressions import POSITION
from headrace.lowering.lookups.steps import LookupSteps
from headrace.lowering.watermarks import Heartbeats, partition_column
from headrace.rules.tables import RuleTable, table_of
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.base import Reader
    from headrace.lowering.lookups.worker import LookupTask
    from headrace.steps.code.functions import FunctionStep
    from headrace.steps.endpoints.source import FrameSource, Source
    from headrace.steps.patterns.match_rules import MatchRules
    from headrace.steps.rows.lookup import Lookup


class StreamInputs:
    """Sources as streams, for one query."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: str,
        directory: str | Path,
        heartbeats: Heartbeats,
        *,
        primary_reader_of: Collection[str] = (),
        real_time: bool = False,
    ) -> None:
        self.spark = spark
        self.pipeline = pipeline
        self.directory = Path(directory)
        self.heartbeats = heartbeats
        self.checkpoint: Path | None = None
        """The checkpoint of the query; None if it has none."""
        self.run_on_start = False
        """Whether the query has to run a batch as soon as it starts: it lives by the clock, or it owes
        one.
        """
        self.dead_letters: dict[str, DeadLetters] = {}
        """The collectors of records that did not decode, by source; filled as sources are read."""
        self.lookups = LookupSteps(spark)
        self._primary_reader_of = frozenset(primary_reader_of)
        self._real_time = real_time
        self._spill = self.directory / "spill"
        self._tables: dict[str, DataFrame] = {}
        self._reading: list[tuple[str, Reader]] = []

    def source(self, node: Source) -> DataFrame:
        """Return the decoded rows of a source, with their position."""
        return self._decode(node, self._read(node))

    def frame(self, node: FrameSource) -> DataFrame:
        """Return a DataFrame source as a stream.

        A batch is stored once per checkpoint, so that it can be replayed.
        """
        frame: DataFrame = node.frame
        if frame.isStreaming:
            return frame
        path = self.directory / "sources" / node.name
        if not path.exists():
            frame.write.mode("overwrite").parquet(f"{path}.draft")
            Path(f"{path}.draft").rename(path)
        return self.spark.readStream.schema(frame.schema).parquet(str(path))

    def table(self, node: Lookup) -> DataFrame:
        """Return the table of a lookup, read once for a run and kept."""
        if node.name not in self._tables:
            self._tables[node.name] = read_table(self.spark, self.pipeline, node).persist()
        return self._tables[node.name]

    def lookup_task(self, node: Lookup) -> LookupTask | None:
        """Return the task of a lookup that runs in Python workers; None if the table is read once."""
        if node.load == "key":
            return self.lookups.task_by_key(node)
        if node.refresh is None or self.checkpoint is None:
            return None
        read = partial(read_table, self.spark, self.pipeline, node)
        return self.lookups.task_of_snapshots(node, self.checkpoint, read)

    def failures(self, node: FunctionStep, rows: DataFrame) -> DeadLetters | None:
        """Return the collector of the rows that a function diverts.

        None in a query that does not deliver them.

        Args:
            node: the step.
            rows: its input.
        """
        if node.on_error != "divert" or node.name not in self._primary_reader_of:
            return None
        if node.name not in self.dead_letters:
            place = self._spill / node.name
            self.dead_letters[node.name] = collector_of(self.spark, node, rows.schema, place)
        return self.dead_letters[node.name]

    def rules(self, node: MatchRules) -> RuleTable:
        """Return the table of a step's rules."""
        return table_of(node)

    def add_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, sources: Sequence[Source]
    ) -> DataFrame:
        """Put a watermark on the node's column, computed per partition of its sources."""
        partition = None
        if isinstance(node, EventTime) and POSITION in frame.columns and not self._real_time:
            partitioned = [source.name for source in sources if self.has_partitions(source)]
            partition = partition_column([source.name for source in sources], partitioned)
        return self.heartbeats.add_watermark(
            frame, node, partition=partition, checkpoint=self.checkpoint, run_on_start=self.run_on_start
        )

    def has_partitions(self, source: Source) -> bool:
        """Return True if the source system has units with a record order of their own."""
        return source.connector.has_partitions

    def acknowledge(self, reported: Sequence[Mapping[str, Any]]) -> None:
        """Report the offsets of an epoch to the servers of the sources.

        Of the queries that read a source, only the primary reader reports.
        """
        for name, reader in self._reading:
            if name in self._primary_reader_of and isinstance(reader, Acknowledging):
                for source in reported:
                    reader.acknowledge(source["description"], source.get("endOffset"))

    def close(self) -> None:
        """Let go of the tables and of what the sources hold open."""
        for _, reader in self._reading:
            reader.close()
        self._reading.clear()
        for table in self._tables.values():
            table.unpersist()

    def _read(self, node: Source) -> DataFrame:
        place = str(self.directory / "sources" / node.name)
        context = ReadContext(self.pipeline, node.name, node.schema, node.format, place, self._real_time)
        reader = node.connector.reader()
        self._reading.append((node.name, reader))
        return reader.stream(self.spark, context)

    def _decode(self, node: Source, frame: DataFrame) -> DataFrame:
        if node.connector.carries == "rows" or node.format is None:
            return (
                frame
                if POSITION in frame.columns
                else frame.withColumn(POSITION, _order_of_arrival(node.name))
            )
        policy = (
            "skip"
            if node.on_error == "divert" and node.name not in self._primary_reader_of
            else node.on_error
        )
        rows, dead_letters = decode_records(
            self.spark,
            frame,
            format=node.format,
            schema=node.schema,
            on_error=policy,
            source=node.name,
            spill_directory=self._spill_directory(node),
        )
        self.dead_letters[node.name] = dead_letters
        return rows

    def _spill_directory(self, node: Source) -> Path | None:
        return self._spill / node.name


class BatchInputs(StreamInputs):
    """Sources as batches: all that is there now. There is no watermark, because nothing is late."""

    def __init__(self, spark: SparkSession, pipeline: str) -> None:
        super().__init__(spark, pipeline, "", None)  # type: ignore[arg-type]

    def add_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, sources: Sequence[Source]
    ) -> DataFrame:
        """Set the time of the rows; a batch has no watermark."""
        return set_time(check_event_time(frame, node), node)

    def frame(self, node: FrameSource) -> DataFrame:
        return node.frame  # type: ignore[no-any-return]

    def _spill_directory(self, node: Source) -> Path | None:
        return None

    def _read(self, node: Source) -> DataFrame:
        context = ReadContext(self.pipeline, node.name, node.schema, node.format, "")
        return node.connector.reader().batch(self.spark, context)


def read_table(spark: SparkSession, pipeline: str, node: Lookup) -> DataFrame:
    """Return the table of a lookup as it is now. A record of it that does not decode stops the run."""
    if not isinstance(node.table, Connector):
        return node.table.column  # type: ignore[no-any-return]
    frame = node.table.reader().batch(spark, ReadContext(pipeline, node.name, node.schema, node.format, ""))
    if node.table.carries == "rows" or node.format is None:
        return frame.drop(POSITION)
    rows, _ = decode_records(
        spark, frame, format=node.format, schema=node.schema, on_error="fail", source=node.name
    )
    return rows.drop(POSITION)


def _order_of_arrival(source: str):  # type: ignore[no-untyped-def]
    """Return a position for rows that bring none: the task that read them, and their number in it."""
    return F.struct(
        F.lit(source).alias("source"),
        F.lpad(F.spark_partition_id().cast("string"), 6, "0").alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
    )
