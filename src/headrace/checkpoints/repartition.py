"""The state of a pipeline in another number of parts: Spark's offline repartition, step by step.

A checkpoint keeps the number of partitions of its first run for good. To use more cores, or fewer, its state has to be
written anew, which Spark does as an epoch of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import PipelineDirectory
from headrace.checkpoints.layout import checkpoint_of, progress_of, queries_with_state
from headrace.errors import OptionError
from headrace.spark.gateway import JavaError, java_message, java_session
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph


def repartition(
    graph: Graph, directory: Path, partitions: int, *, step: str | None = None
) -> dict[str, tuple[int | None, int]]:
    """Write the state of a pipeline that isn't running in so many parts; of one step, if it is named.

    Returns:
        For each step the number it had and has. A step that has it already is left as it is.

    Raises:
        OptionError: there is no checkpoint, the pipeline is running or finished, or an epoch isn't.
    """
    from pyspark.errors import PySparkException

    queries = queries_with_state(graph, directory, step)
    held = PipelineDirectory.acquire(graph.name, directory)
    try:
        spark = open_session(graph.name)
        return {
            query.name: _rewritten(spark, checkpoint_of(directory, query), partitions) for query in queries
        }
    except (PySparkException, JavaError) as error:
        raise OptionError(
            f"Spark can't repartition it: {java_message(error).splitlines()[0]}",
            where=str(directory),
            hint="if an epoch is unfinished, finish it first: headrace run FILE --once",
        ) from error
    finally:
        held.release()


def _rewritten(spark: SparkSession, checkpoint: Path, partitions: int) -> tuple[int | None, int]:
    before = progress_of(checkpoint).partitions
    if before != partitions:
        manager = java_session(spark).streamingCheckpointManager()
        manager.repartition(str(checkpoint / "spark"), partitions, True)
    return before, partitions
