"""Start a run of a checked plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import PipelineDirectory, directory_of
from headrace.checkpoints.standby import StandbyPlace
from headrace.connectors.memory import Memory
from headrace.errors import PlanError, Problem
from headrace.plan.guarantees import require
from headrace.runtime.fresh import describe_fresh_start
from headrace.runtime.micro_batch.run import MicroBatchRun
from headrace.runtime.real_time.run import RealTimeRun, check_plan
from headrace.runtime.real_time.settings import session_master, session_settings
from headrace.runtime.standby import NO_RUN, StandbyRun, describe_wait
from headrace.runtime.warm_up import warm_up
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.plan.graph import Graph
    from headrace.runtime.handle import RunHandle
    from headrace.runtime.options import RunOptions

STARTING_SPARK = "starting Spark"
"""The phase of a start that takes most of its time: the first session of a process starts a JVM."""


def _print_note(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def start(
    graph: Graph,
    options: RunOptions,
    on_phase: Callable[[str], None] = lambda phase: None,
    on_note: Callable[[str], None] = _print_note,
    *,
    session: str = "",
) -> RunHandle:
    """Lock the checkpoint directory of a checked plan, open a session, and start the run.

    With the option `standby`, and if another run holds the lock, return the handle of a standby.

    Args:
        graph: the plan.
        options: the options of the run.
        on_phase: called with each phase of the start, such as `STARTING_SPARK`.
        on_note: called with each line about a fresh start.
        session: the rows in memory that a temporary checkpoint belongs to; empty for a checkpoint that is
            kept.
    """
    if not graph.sinks:
        hint = "end it with stream.write(...)"
        raise PlanError([Problem(f"pipeline `{graph.name}`", "nothing is written", hint)])
    if options.fresh and not session:
        for line in describe_fresh_start(graph, directory_of(graph.name, options.checkpoint)):
            on_note(line)
    if options.mode == "real_time":
        check_plan(graph, options.guarantee)
    else:
        require(graph, options.guarantee)
    if not options.standby:
        directory = PipelineDirectory.acquire(
            graph.name, options.checkpoint, fresh=options.fresh, session=session
        )
        if directory.replaced:
            _empty_sinks(graph)
        return _start_run(graph, directory, options, on_phase)
    place = StandbyPlace(graph.name, options.checkpoint)
    if place.is_free:
        on_phase(NO_RUN)
        return _start_run(graph, place.take_over(), options, on_phase)
    return _start_standby(graph, place, options, on_phase)


def _empty_sinks(graph: Graph) -> None:
    """Remove the rows of earlier runs from sinks in memory, which nothing else can replace."""
    for sink in graph.sinks:
        if isinstance(sink.connector, Memory):
            sink.connector.remove_rows_of(graph.name, sink.name)


def _start_run(
    graph: Graph, directory: PipelineDirectory, options: RunOptions, on_phase: Callable[[str], None]
) -> RunHandle:
    try:
        on_phase(STARTING_SPARK)
        spark = _open_session(graph, directory, options)
        on_phase("planning")
        return _begin(graph, options, spark, directory)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            directory.record_ending("stopped")
        directory.release()
        raise


def _start_standby(
    graph: Graph, place: StandbyPlace, options: RunOptions, on_phase: Callable[[str], None]
) -> RunHandle:
    try:
        on_phase(STARTING_SPARK)
        spark = _open_session(graph, place.directory, options)
        on_phase("warming up")
        warnings = warm_up(spark, graph) if options.mode == "micro_batch" else []
    except BaseException:
        place.leave()
        raise
    on_phase(describe_wait(place.holder))
    return StandbyRun(spark, graph, place, partial(_begin, graph, options), warnings)


def _open_session(graph: Graph, directory: PipelineDirectory, options: RunOptions) -> SparkSession:
    real_time = options.mode == "real_time"
    return open_session(
        graph.name,
        master=session_master(options.master) if real_time else options.master,
        conf=session_settings(graph, options.conf) if real_time else options.conf,
        jars=jars_for(graph.connectors),
        log_directory=directory.path / "logs",
        inherited=[directory.lock_descriptor],
    )


def _begin(graph: Graph, options: RunOptions, spark: SparkSession, directory: PipelineDirectory) -> RunHandle:
    run = RealTimeRun if options.mode == "real_time" else MicroBatchRun
    return run(spark, graph, directory, options)
