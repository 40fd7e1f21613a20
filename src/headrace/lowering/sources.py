"""Where the rows of a lowering come from: sources read as streams or as batches, and lookup tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812

from headrace.connectors.base import Acknowledging, Connector, Finite, ReadContext
from headrace.lowering.decode import DeadLetters, decoded
from headrace.lowering.expressions import POSITION, TIME
from headrace.rules.tables import RuleTable, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.connectors.base import Reader
    from headrace.lowering.watermarks import Heartbeats
    from headrace.steps.endpoints.source import Source
    from headrace.steps.patterns.match_rules import MatchRules
    from headrace.steps.rows.event_time import ClockTime, EventTime
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
        self.run_on_start = False
        """True if the query has to run a batch as soon as it starts, whether or not there are rows."""
        self.dead_letters: dict[str, DeadLetters] = {}
        """The collectors of records that didn't decode, by source; filled as sources are read."""
        self._primary_reader_of = frozenset(primary_reader_of)
        self._real_time = real_time
        self._tables: dict[str, DataFrame] = {}
        self._reading: list[tuple[str, Reader]] = []

    def source(self, node: Source) -> DataFrame:
        """The decoded rows of a source, with their position."""
        return self._decoded(node, self._read(node))

    def table(self, node: Lookup) -> DataFrame:
        """The table of a lookup, read once for a run and kept."""
        if node.name not in self._tables:
            self._tables[node.name] = read_table(self.spark, self.pipeline, node).persist()
        return self._tables[node.name]

    def rules(self, node: MatchRules) -> RuleTable:
        """The table of a step's rules."""
        return table_of(node)

    def watermarked(self, frame: DataFrame, node: EventTime | ClockTime) -> DataFrame:
        """The rows with a watermark that their own time and heartbeats move."""
        return self.heartbeats.watermarked(frame, node, run_on_start=self.run_on_start)

    def acknowledge(self, reported: Sequence[Mapping[str, Any]]) -> None:
        """Report the offsets of an epoch to the servers of the sources.

        Of the queries that read a source, only the primary reader reports.
        """
        for name, reader in self._reading:
            if name in self._primary_reader_of and isinstance(reader, Acknowledging):
                for source in reported:
                    reader.acknowledge(source["description"], source.get("endOffset"))

    def available(self) -> None:
        """The run takes what is there now and ends; Spark tells sources so only where it paces the query itself."""
        for _, reader in self._reading:
            if isinstance(reader, Finite):
                reader.available()

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

    def _decoded(self, node: Source, frame: DataFrame) -> DataFrame:
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
        rows, dead_letters = decoded(
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
        return self.directory / "spill" / node.name


class BatchInputs(StreamInputs):
    """Sources as batches: all that is there now. There is no watermark, because nothing is late."""

    def __init__(self, spark: SparkSession, pipeline: str) -> None:
        super().__init__(spark, pipeline, "", None)  # type: ignore[arg-type]

    def watermarked(self, frame: DataFrame, node: EventTime | ClockTime) -> DataFrame:
        """The rows with their time."""
        return frame.withColumn(TIME, F.col(f"`{node.column}`"))

    def _spill_directory(self, node: Source) -> Path | None:
        return None

    def _read(self, node: Source) -> DataFrame:
        context = ReadContext(self.pipeline, node.name, node.schema, node.format, "")
        return node.connector.reader().batch(self.spark, context)


def read_table(spark: SparkSession, pipeline: str, node: Lookup) -> DataFrame:
    """The table of a lookup as it is now. A record of it that doesn't decode stops the run."""
    if not isinstance(node.table, Connector):
        return node.table.column  # type: ignore[no-any-return]
    frame = node.table.reader().batch(spark, ReadContext(pipeline, node.name, node.schema, node.format, ""))
    if node.table.carries == "rows" or node.format is None:
        return frame.drop(POSITION)
    rows, _ = decoded(spark, frame, format=node.format, schema=node.schema, on_error="fail", source=node.name)
    return rows.drop(POSITION)


def _order_of_arrival(source: str):  # type: ignore[no-untyped-def]
    """A position for rows that bring none: the task that read them, and their number in it."""
    return F.struct(
        F.lit(source).alias("source"),
        F.lpad(F.spark_partition_id().cast("string"), 6, "0").alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
    )
