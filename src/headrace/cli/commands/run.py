"""`headrace run`: run a pipeline from a file and follow it until it ends."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headrace.cli.options import (
    CheckpointDirectory,
    Drain,
    ModeWord,
    Once,
    PipelineFile,
    PipelineName,
    RealTime,
    UntilWord,
    flag,
    pacing_of,
    parse_pairs,
)
from headrace.cli.terminal.errors import INTERRUPTED, show_warnings
from headrace.cli.terminal.following import follow
from headrace.cli.terminal.output import err, print_message
from headrace.cli.terminal.summary import Summary
from headrace.cli.terminal.views import View, view_for
from headrace.connectors.base import Guarantee
from headrace.durations import microseconds
from headrace.errors import HeadraceError
from headrace.runtime.options import RunOptions, Until
from headrace.runtime.progress.interrupts import Interrupts
from headrace.streams.pipeline import Pipeline

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.handle import RunHandle


def run(
    file: PipelineFile,
    *,
    until: UntilWord = None,
    once: Once = False,
    drain: Drain = False,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help='Interval between micro-batches, as "10 seconds"; default: as fast as possible.',
        ),
    ] = None,
    mode: ModeWord = None,
    real_time: RealTime = False,
    fresh: Annotated[
        bool,
        flag(
            "--fresh",
            help="Start with a new checkpoint and move the previous one aside; lists the effect on sinks.",
        ),
    ] = False,
    standby: Annotated[
        bool,
        flag(
            "--standby",
            help="Start Spark, wait until the active run of the pipeline fails or is killed, and resume from "
            "its checkpoint; ends when that run is stopped.",
        ),
    ] = False,
    checkpoint: CheckpointDirectory = None,
    guarantee: Annotated[
        Guarantee | None,
        typer.Option(
            metavar="WORD",
            help="Reject a plan that provides less than at_most_once, at_least_once or exactly_once; "
            "default: the best that its sources and sinks provide.",
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="MASTER", help="The Spark master, as local[4] or spark://host:7077.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
    ] = None,
    pipeline: PipelineName = None,
    status_every: Annotated[
        str, typer.Option(metavar="DURATION", help="Interval between status lines without a terminal.")
    ] = "10 seconds",
    quiet: Annotated[bool, flag("--quiet", "-q", help="Print no status and no summary.")] = False,
    json: Annotated[bool, flag("--json", help="Print status and summary as JSON lines.")] = False,
) -> None:
    """Run a pipeline until its input ends or Ctrl-C.

    The first Ctrl-C is a graceful stop: it finishes the current micro-batch, commits it and exits. The second
    stops at once; the next run processes the current micro-batch again, so no row is lost.

    For example:

    - `headrace run fraud.yaml --until caught_up`, or `--once`
    - `headrace run fraud.py --every "5 seconds" --conf spark.driver.memory=2g`
    - `headrace run fraud.yaml --mode real_time`
    - `headrace run fraud.yaml --standby`
    """
    from headrace.checkpoints.directory import directory_of
    from headrace.checkpoints.rename import warn_of_unused_state
    from headrace.cli.loading import load_one
    from headrace.plan.warnings import warnings_of
    from headrace.runtime.standby import StandbyRun

    pacing = pacing_of(
        "run", once=once, drain=drain, until=until, every=every, real_time=real_time, mode=mode
    )
    settings = parse_pairs(conf, where="--conf", example="spark.driver.memory=2g")
    period = microseconds(status_every, where="--status-every") / 1_000_000
    chosen = load_one(file, pipeline)
    arguments = {"checkpoint": checkpoint, "guarantee": guarantee, "master": master, "fresh": fresh}
    arguments |= {"standby": standby}
    options = _combine(chosen, pacing, arguments, settings, quiet=quiet)
    graph = chosen._plan()
    unused = [] if fresh else warn_of_unused_state(graph, directory_of(graph.name, options.checkpoint))
    show_warnings([*warnings_of(graph), *unused])
    view = view_for(chosen.name, period=period, quiet=quiet, json=json)
    began = time.monotonic()
    with Interrupts() as interrupts:
        handle = _start(graph, options, interrupts, quiet=quiet or json)
        _follow(handle, view, interrupts)
    ending: Until | Literal["standby"] = "stopped" if interrupts.count else options.until
    reason = handle.reason if isinstance(handle, StandbyRun) else ""
    if reason:
        ending = "standby"
    seconds = time.monotonic() - began
    command = "" if ending == "drained" else resume_command()
    view.end(Summary(chosen.name, ending, seconds, handle.status(), handle.directory.path, command, reason))


def _combine(
    pipeline: Pipeline,
    pacing: dict[str, Any],
    arguments: dict[str, Any],
    settings: dict[str, str],
    *,
    quiet: bool,
) -> RunOptions:
    """Combine the options of a `run()` in the file with those of the command line, which take precedence."""
    declared = pipeline._declared_run
    options = declared.options if declared is not None else RunOptions()
    if declared is not None and declared.place and not pacing and not quiet:
        print_message(
            f"{declared.place}: run(...) sets until={options.until!r}; the command line can override it"
        )
    changes = pacing | {name: value for name, value in arguments.items() if value}
    if changes.get("until", "stopped") != "stopped":
        changes.setdefault("every", None)  # a bounded run has no pace
    return replace(options, **changes, conf={**options.conf, **settings})


def _start(graph: Graph, options: RunOptions, interrupts: Interrupts, *, quiet: bool) -> RunHandle:
    """Start the run; show each phase of the start on a terminal, otherwise print the longest one."""
    from headrace.runtime.run import STARTING_SPARK, start

    console = err()
    spinner = console.status(f"{graph.name}: starting") if console.is_terminal and not quiet else None

    def show(phase: str) -> None:
        interrupts.install()
        if spinner is not None:
            spinner.update(f"{graph.name}: {phase}")
        elif phase == STARTING_SPARK and not quiet:
            print_message(f"{graph.name}: {phase} ...")
        if phase.startswith("standby") and not quiet:
            print_message(f"{graph.name}: {phase}")

    waits = "stopping when the run has started; press Ctrl-C again to stop immediately"
    interrupts.on_first = lambda: print_message(waits, "warn")
    with spinner or nullcontext():
        handle = start(graph, options, show)
    interrupts.on_first = None
    interrupts.install()
    return handle


def _follow(handle: RunHandle, view: View, interrupts: Interrupts) -> None:
    try:
        follow(handle, view, interrupts)
    except KeyboardInterrupt:
        print_message("stopped at once; the next run processes the current micro-batch again", "warn")
        print_message(f"to resume: {resume_command()}")
        handle.directory.record_ending("stopped")
        _exit_now(INTERRUPTED)
    except HeadraceError:
        print_message(
            f"the run of {handle.graph.name} failed; Spark's log is in {handle.directory.path / 'logs'}",
            "bad",
        )
        raise


def _exit_now(status: int) -> None:
    """End this process and its JVM; the current epoch stays uncommitted."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def resume_command() -> str:
    """Return the command line that resumes this run: as it was typed, but without a new checkpoint."""
    return shlex.join(["headrace", *(word for word in sys.argv[1:] if word != "--fresh")])
