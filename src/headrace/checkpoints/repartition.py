"""Repartition the state of stateful steps offline, with Spark's checkpoint manager.

A checkpoint keeps the number of partitions of its first run. Spark rewrites the state in an additional epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.integrity.continuity import copy_times, newest_times
from headrace.checkpoints.layout import checkpoint_of, progress_of, queries_with_state
from headrace.errors import OptionError
from headrace.spark.gateway import JavaError, java_message, java_session
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session
from headrace.spark.versions import REPARTITIONING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph


def repartition(
    graph: Graph,
    directory: Path,
    partitions: int,
    *,
    step: str | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> dict[str, tuple[int | None, int]]:
    """Rewrite the state of a pipeline that is not running, or only of `step`, with this number of partitions.

    `master` and `conf` are those of the session that rewrites it.

    Returns:
        The number before and after, by step. A step that already has this number is not rewritten.

    Raises:
        OptionError: there is no checkpoint, the pipeline is running or drained, or an epoch is not committed.
        SetupError: the installed Spark cannot rewrite state.
    """
    from pyspark.errors import PySparkException

    REPARTITIONING.require(str(directory))
    queries = queries_with_state(graph, directory, step)
    acquired = PipelineDirectory.acquire(graph.name, directory)
    try:
        spark = open_session(graph.name, master=master, conf=conf, jars=jars_for(graph.connectors))
        return {query.name: _rewrite(spark, checkpoint_of(directory, query), partitions) for query in queries}
    except (PySparkException, JavaError) as error:
        raise OptionError(
            f"Spark cannot repartition it: {java_message(error).splitlines()[0]}",
            where=str(directory),
            hint="if an epoch is not committed, run it first: headrace run FILE --once",
        ) from error
    finally:
        acquired.release()


def _rewrite(spark: SparkSession, checkpoint: Path, partitions: int) -> tuple[int | None, int]:
    before = progress_of(checkpoint).partitions
    if before != partitions:
        manager = java_session(spark).streamingCheckpointManager()
        times = newest_times(checkpoint)
        manager.repartition(str(checkpoint / "spark"), partitions, True)
        copy_times(times, checkpoint)
    return before, partitions
