"""One job as a pipeline and in PySpark; both read the same files and write to a no-op sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.noop_sink import NoopSink, Tally
from benchmarks.windows.inputs import DISORDER, FILES_PER_BATCH, SCHEMA
from headrace import Pipeline, connect, windows

Format = Literal["parquet", "json"]
AGGREGATES = {"n": "count(*)", "total": "sum(value)"}


@dataclass(frozen=True)
class Setting:
    """The session, the input, and a directory for checkpoints."""

    spark: SparkSession
    source: Path
    place: Path

    def checkpoint(self) -> Path:
        """Return a new checkpoint directory: every run starts without state."""
        return self.place / uuid4().hex


Job = Callable[[Setting], Tally]


def by_headrace(window: windows.Window, *, kind: Format = "parquet", **emit: Any) -> Job:
    """Return the job as a pipeline."""

    def run(setting: Setting) -> Tally:
        pipeline, sink = build_pipeline(setting.source, window, kind=kind, **emit)
        pipeline.run(until="caught_up", checkpoint=setting.checkpoint())
        return sink.tally

    return run


def build_pipeline(
    source: Path,
    window: windows.Window,
    *,
    kind: Format = "parquet",
    files: int = FILES_PER_BATCH,
    schema: str = SCHEMA,
    out_of_order: str = DISORDER,
    **emit: Any,
) -> tuple[Pipeline, NoopSink]:
    """Build the pipeline and its counting sink."""
    pipeline, sink = Pipeline("bench"), NoopSink()
    connector = connect.files(path=str(source), format=kind, max_files_per_batch=files)
    rows = pipeline.read("rows", connector, format=kind, schema=schema)
    keyed = rows.event_time("ts", out_of_order=out_of_order).key_by("key")
    keyed.window(window).emit(**emit).aggregate("panes", **AGGREGATES).write("out", sink)
    return pipeline, sink


def by_window_function(window: Callable[[], Column], *, kind: Format = "parquet") -> Job:
    """Return the job as a windowed aggregation of Spark: one result per window, late rows dropped."""

    def run(setting: Setting) -> Tally:
        rows = _rows(setting, kind).withWatermark("ts", DISORDER)
        aggregates = [F.expr(text).alias(name) for name, text in AGGREGATES.items()]
        return _run_query(rows.groupBy("key", window()).agg(*aggregates), setting)

    return run


def by_pandas(processor: Callable[[], Any], *, watermark: bool) -> Job:
    """Return the job as a stateful processor in Python."""

    def run(setting: Setting) -> Tally:
        from benchmarks.windows.processors import OUTPUT

        rows = _rows(setting, "parquet")
        if watermark:
            rows = rows.withWatermark("ts", DISORDER)
        mode = "EventTime" if watermark else "None"
        return _run_query(
            rows.groupBy("key").transformWithStateInPandas(processor(), OUTPUT, "Append", mode), setting
        )

    return run


def _rows(setting: Setting, kind: Format) -> DataFrame:
    reader = setting.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES_PER_BATCH)
    return reader.format(kind).load(str(setting.source))


def _run_query(results: DataFrame, setting: Setting) -> Tally:
    tally = Tally()
    writer = results.writeStream.outputMode("append").foreachBatch(tally.take)
    writer = writer.option("checkpointLocation", str(setting.checkpoint()))
    writer.trigger(availableNow=True).start().awaitTermination()
    return tally
