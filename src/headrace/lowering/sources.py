"""The inputs of a lowering: sources, read as streams or batches, and tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import functions as F  # noqa: N812

from headrace.checkpoints.integrity.exchange_files import write_listing
from headrace.connectors.base import Acknowledging, Connector, ReadContext, Receiving
from headrace.lowering.code.functions import collector_of
from headrace.lowering.decode import DeadLetters, decode_records
from headrace.lowering.dispatch import EpochStep
from headrace.lowering.event_times import check_event_time, set_time
from headrace.lowering.expressions import POSITION
from headrace.lowering.watermarks import Heartbeats, partition_column
from headrace.rules.tables import RuleTable, table_of
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.connectors.base import Reader, Reception
    from headrace.steps.code.functions import WorkerStep
    from headrace.steps.endpoints.source import FrameSource, Source
    from headrace.steps.endpoints.table import TableReader
    from headrace.steps.patterns.match_rules import MatchRules

Held = TypeVar("Held", bound=EpochStep)


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
        checkpoint: Path | None = None,
        run_on_start: bool = False,
        real_time: bool = False,
    ) -> None:
        """Prepare the inputs of a query.

        Args:
            spark: the session.
            pipeline: the name of the pipeline.
            directory: the checkpoint directory of the pipeline.
            heartbeats: the watermarks of the run.
            primary_reader_of: the sources and functions whose dead letters this query delivers, and whose
                offsets it acknowledges.
            checkpoint: the checkpoint of the query, if it has one.
            run_on_start: True to run a batch when the query starts, for clock timers or a pending firing.
            real_time: True in real-time mode.
        """
        self.spark = spark
        self.pipeline = pipeline
        self.directory = Path(directory)
        self.heartbeats = heartbeats
        self.checkpoint = checkpoint
        self.run_on_start = run_on_start
        self.dead_letters: dict[str, DeadLetters] = {}
        """The dead letters by source or function; filled when a step is lowered."""
        self.held: dict[str, EpochStep] = {}
        """What stateless steps hold for the query, by step."""
        self._primary_reader_of = frozenset(primary_reader_of)
        self._real_time = real_time
        self._spill = self.directory / "spill"
        self._tables: dict[str, DataFrame] = {}
        self._reading: list[tuple[str, Reader]] = []

    def source(self, node: Source) -> DataFrame:
        """Return the decoded rows of a source, with their position."""
        return self._decode(node, self._read(node))

    def frame(self, node: FrameSource) -> DataFrame:
        """Return a DataFrame source as a stream; a batch is stored in the checkpoint, for replays."""
        frame: DataFrame = node.frame
        if frame.isStreaming:
            return frame
        path = (self.directory / "sources" / node.name).absolute()  # the JVM has its own working directory
        if not path.exists():
            draft = Path(f"{path}.draft")
            frame.write.mode("overwrite").parquet(str(draft))
            write_listing(draft)
            draft.rename(path)
        return self.spark.readStream.schema(frame.schema).parquet(str(path))

    def table(self, node: TableReader) -> DataFrame:
        """Return the table of a step, read once per run and persisted."""
        if node.name not in self._tables:
            self._tables[node.name] = read_table(self.spark, self.pipeline, node).persist()
        return self._tables[node.name]

    def once(self, step: str, build: Callable[[], Held]) -> Held:
        """Return what a step holds for the query; it is built when the step is lowered first."""
        if step not in self.held:
            self.held[step] = build()
        held: Any = self.held[step]
        return held  # type: ignore[no-any-return]

    def failures(self, node: WorkerStep, rows: DataFrame) -> DeadLetters | None:
        """Return the collector of rows that a function diverts; None if this query does not deliver them."""
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
        """Set a watermark on the column of the node, computed per partition of its sources."""
        partition = None
        if isinstance(node, EventTime) and POSITION in frame.columns and not self._real_time:
            partitioned = [source.name for source in sources if self.has_partitions(source)]
            partition = partition_column([source.name for source in sources], partitioned)
        return self.heartbeats.add_watermark(
            frame, node, partition=partition, checkpoint=self.checkpoint, run_on_start=self.run_on_start
        )

    def has_partitions(self, source: Source) -> bool:
        """Return True if the source system has partitions, each with an ordered log of records."""
        return source.connector.has_partitions

    def acknowledge(self, reported: Sequence[Mapping[str, Any]]) -> None:
        """Report the offsets of an epoch to the source systems; only the primary reader of a source does."""
        for name, reader in self._reading:
            if name in self._primary_reader_of and isinstance(reader, Acknowledging):
                for source in reported:
                    reader.acknowledge(source["description"], source.get("endOffset"))

    def receptions(self) -> dict[str, Reception]:
        """Return the counts of messages of each source that has a write-ahead log."""
        receiving = [(name, reader) for name, reader in self._reading if isinstance(reader, Receiving)]
        return {name: counts for name, reader in receiving if (counts := reader.reception()) is not None}

    def close(self) -> None:
        """Close the readers of sources and unpersist tables."""
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
            if POSITION in frame.columns:
                return frame
            return frame.withColumn(POSITION, _arrival_position(node.name))
        is_primary = node.name in self._primary_reader_of
        policy = "skip" if node.on_error == "divert" and not is_primary else node.on_error
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
    """The present rows of sources as batches, without a watermark."""

    def __init__(self, spark: SparkSession, pipeline: str) -> None:
        super().__init__(spark, pipeline, "", None)  # type: ignore[arg-type]

    def add_watermark(
        self, frame: DataFrame, node: EventTime | ClockTime, sources: Sequence[Source]
    ) -> DataFrame:
        """Set the time of the rows."""
        return set_time(check_event_time(frame, node), node)

    def frame(self, node: FrameSource) -> DataFrame:
        return node.frame  # type: ignore[no-any-return]

    def _spill_directory(self, node: Source) -> Path | None:
        return None

    def _read(self, node: Source) -> DataFrame:
        context = ReadContext(self.pipeline, node.name, node.schema, node.format, "")
        return node.connector.reader().batch(self.spark, context)


def read_table(spark: SparkSession, pipeline: str, node: TableReader) -> DataFrame:
    """Return the present rows of a table; a record that cannot be decoded fails the run."""
    if not isinstance(node.table, Connector):
        return node.table.column  # type: ignore[no-any-return]
    frame = node.table.reader().batch(spark, ReadContext(pipeline, node.name, node.schema, node.format, ""))
    if node.table.carries == "rows" or node.format is None:
        return frame.drop(POSITION)
    rows, _ = decode_records(
        spark, frame, format=node.format, schema=node.schema, on_error="fail", source=node.name
    )
    return rows.drop(POSITION)


def _arrival_position(source: str) -> Column:
    """Return a position for rows without one: the task that read the row, and its number in the task."""
    return F.struct(
        F.lit(source).alias("source"),
        F.lpad(F.spark_partition_id().cast("string"), 6, "0").alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
    )
