"""Lower `distinct` to the kernel's `Deduplicate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.lowering.expressions import TIME, position_column
from headrace.spark.gateway import java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lowering.counts import Counts
    from headrace.steps.stateful.distinct import Distinct


def drop_duplicates(spark: SparkSession, frame: DataFrame, node: Distinct, counts: Counts) -> DataFrame:
    """Return tagged rows: `main` without duplicates, `late` after the deduplication state has expired."""
    time = F.unix_micros(TIME) if TIME in frame.columns else F.lit(None).cast("bigint")
    keys = [frame[f"`{name}`"] for name in node.on]
    packed = frame.select(
        F.struct(*keys).alias("key"),
        F.struct(*(frame[f"`{name}`"] for name in frame.columns)).alias("data"),
        time.alias("time"),
        position_column(frame).alias("position"),
    )
    operator = kernel(spark).dedup.Deduplicate
    return DataFrame(operator.apply(java_frame(packed), node.within, counts._kernel), spark)
