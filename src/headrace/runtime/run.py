"""Start a run of a checked plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import PipelineDirectory, directory_of
from headrace.errors import PlanError, Problem
from headrace.plan.guarantees import require
from headrace.runtime.fresh import describe_fresh_start
from headrace.runtime.micro_batch.run import MicroBatchRun
from headrace.runtime.real_time.run import RealTimeRun, check_plan
from headrace.runtime.real_time.settings import session_master, session_settings
from headrace.spark.jars import jars_for
from headrace.spark.session import open_session

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.handle import RunHandle
    from headrace.runtime.options import RunOptions

STARTING_SPARK = "starting Spark"
"""The phase of a start that takes most of its time: the first session of a process starts a JVM."""


def start(
    graph: Graph, options: RunOptions, on_phase: Callable[[str], None] = lambda phase: None
) -> RunHandle:
    """Lock the checkpoint directory of a checked plan, open a session, and start the run.

    Args:
        graph: the plan.
        options: the options of the run.
        on_phase: called with each phase of the start, such as `STARTING_SPARK`.
    """
    if not graph.sinks:
        hint = "end it with stream.write(...)"
        raise PlanError([Problem(f"pipeline `{graph.name}`", "nothing is written", hint)])
    if options.fresh:
        for line in describe_fresh_start(graph, directory_of(graph.name, options.checkpoint)):
            sys.stderr.write(f"{line}\n")
    real_time = options.mode == "real_time"
    if real_time:
        check_plan(graph, options.guarantee)
    else:
        require(graph, options.guarantee)
    directory = PipelineDirectory.acquire(graph.name, options.checkpoint, fresh=options.fresh)
    try:
        on_phase(STARTING_SPARK)
        spark = open_session(
            graph.name,
            master=session_master(options.master) if real_time else options.master,
            conf=session_settings(graph, options.conf) if real_time else options.conf,
            jars=jars_for(graph.connectors),
            log_directory=directory.path / "logs",
        )
        on_phase("planning")
        run = RealTimeRun if real_time else MicroBatchRun
        return run(spark, graph, directory, options)
    except BaseException:
        directory.release()
        raise
