"""Helpers for tests of sinks: deliver an epoch, build a small batch."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.connectors.base import Connector, WriteContext, Writer


def deliver(connector: Connector, run: WriteContext, epoch: int, frame: DataFrame) -> None:
    """Open, stage, commit, close: one epoch of a run that lasts no longer, as after a restart."""
    writer: Writer = connector.writer()
    try:
        if writer.open(run) < epoch:
            writer.commit(epoch, writer.stage(epoch, frame))
    finally:
        writer.close()


def rows(spark: SparkSession, *values: tuple[Any, ...], schema: str = "k string, v int") -> DataFrame:
    """A small batch, in two partitions."""
    return spark.createDataFrame(list(values), schema).repartition(2)
