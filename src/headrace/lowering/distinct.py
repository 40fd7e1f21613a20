"""The bridge to the kernel's `Distinct`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lowering.counts import Counts
    from headrace.steps.stateful.distinct import Distinct

_NO_POSITION = "cast(null as struct<source: string, partition: string, offset: bigint>)"


def drop_duplicates(spark: SparkSession, frame: DataFrame, node: Distinct, counts: Counts) -> DataFrame:
    """Return the step's tagged rows: `__main` without repeats, `__late` those it cannot judge any more."""
    time = F.unix_micros("__ts") if "__ts" in frame.columns else F.lit(None).cast("bigint")
    position = F.col("__position") if "__position" in frame.columns else F.expr(_NO_POSITION)
    keys = [frame[f"`{name}`"] for name in node.on]
    packed = frame.select(
        F.struct(*keys).alias("key"),
        F.struct(*(frame[f"`{name}`"] for name in frame.columns)).alias("data"),
        time.alias("time"),
        position.alias("position"),
    )
    operator = kernel(spark).dedup.Deduplicate
    return DataFrame(operator.apply(java_frame(packed), node.within, counts._kernel), spark)
