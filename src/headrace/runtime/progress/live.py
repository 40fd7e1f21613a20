"""Runs with a live status line, for pipelines started from Python."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from headrace.runtime.progress.interrupts import Interrupts, each_tick
from headrace.runtime.progress.live_line import LiveLine
from headrace.runtime.progress.notebook import RunDisplay
from headrace.runtime.progress.status_text import format_elapsed, status_text
from headrace.runtime.run import start

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.options import RunOptions


def run_with_progress(graph: Graph, options: RunOptions, *, session: str = "") -> None:
    """Run a checked plan until it ends, and show its progress if the options request it.

    A notebook shows it in one output that is updated in place. The first Ctrl-C, or the first interrupt of a
    cell, stops the run gracefully.

    Args:
        graph: the plan.
        options: the options of the run.
        session: the rows in memory that a temporary checkpoint belongs to.

    Raises:
        KeyboardInterrupt: the second Ctrl-C.
    """
    if in_notebook() and options.progress is not False:
        _run_in_notebook(graph, options, session)
    else:
        _run_in_terminal(graph, options, session)


def _run_in_notebook(graph: Graph, options: RunOptions, session: str) -> None:
    display = RunDisplay(graph.name)
    with Interrupts() as interrupts:

        def show(phase: str) -> None:
            interrupts.install()
            display.phase(phase)

        try:
            with start(graph, options, show, display.note, session=session) as run:
                interrupts.install()
                for _ in each_tick(run, interrupts, display.note):
                    display.status(run.status())
                display.end(run.status(), _ending(options, interrupts))
        except Exception as error:
            display.fail(error)
            raise


def _run_in_terminal(graph: Graph, options: RunOptions, session: str) -> None:
    began = time.monotonic()
    console = Console(stderr=True, soft_wrap=True)
    line = LiveLine(console, catch_output=sys.stdout.isatty()) if _is_shown(options, console) else None

    def draw(text: str) -> None:
        if line is not None:
            line.draw(Text.assemble((graph.name, "bold"), " ", text))

    with line or nullcontext(), Interrupts() as interrupts:

        def show(phase: str) -> None:
            interrupts.install()
            draw(f"{format_elapsed(time.monotonic() - began)} · {phase}")

        with start(graph, options, show, session=session) as run:
            interrupts.install()
            for _ in each_tick(run, interrupts, lambda text: console.print(text, highlight=False)):
                if line is not None:
                    draw(status_text(run.status(), time.monotonic() - began))
            status = run.status()
    if line is None:
        return
    for warning in status.warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False)
    last = status_text(status, time.monotonic() - began)
    console.print(f"{graph.name} {_ending(options, interrupts)} · {last}", highlight=False)


def _ending(options: RunOptions, interrupts: Interrupts) -> str:
    return "stopped" if interrupts.count else options.until.replace("_", " ")


def in_notebook() -> bool:
    """True inside an IPython kernel, such as that of Jupyter."""
    ipython = sys.modules.get("IPython")  # other packages import ipykernel outside of a notebook, too
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _is_shown(options: RunOptions, console: Console) -> bool:
    return console.is_terminal if options.progress is None else options.progress
