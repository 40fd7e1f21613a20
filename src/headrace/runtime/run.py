"""Start a run of a checked plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.checkpoints.directory import directory_of
from headrace.errors import PlanError, Problem
from headrace.runtime import micro_batch
from headrace.runtime.fresh import describe_fresh_start
from headrace.runtime.handle import RunHandle
from headrace.runtime.options import RunOptions
from headrace.runtime.real_time import run as real_time

if TYPE_CHECKING:
    from headrace.plan.graph import Graph


def start(
    graph: Graph, options: RunOptions, on_phase: Callable[[str], None] = lambda phase: None
) -> RunHandle:
    """Start a checked plan and return its handle.

    Args:
        graph: the plan.
        options: the options of the run.
        on_phase: called with each phase of the start, such as "starting Java".
    """
    if not graph.sinks:
        hint = "end it with stream.write(...)"
        raise PlanError([Problem(f"pipeline `{graph.name}`", "nothing is written", hint)])
    if options.fresh:
        for line in describe_fresh_start(graph, directory_of(graph.name, options.checkpoint)):
            sys.stderr.write(f"{line}\n")
    start_run = real_time.start if options.mode == "real_time" else micro_batch.start
    return start_run(graph, options, on_phase)
