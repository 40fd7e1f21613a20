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
from headrace.runtime.progress.status_text import format_elapsed, status_text
from headrace.runtime.run import start

if TYPE_CHECKING:
    from headrace.plan.graph import Graph
    from headrace.runtime.options import RunOptions


def run_with_progress(graph: Graph, options: RunOptions) -> None:
    """Run a checked plan until it ends, and show its progress if the options request it.

    The first Ctrl-C stops the run gracefully.

    Raises:
        KeyboardInterrupt: the second Ctrl-C.
    """
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

        with start(graph, options, show) as run:
            interrupts.install()
            for _ in each_tick(run, interrupts, lambda text: console.print(text, highlight=False)):
                if line is not None:
                    draw(status_text(run.status(), time.monotonic() - began))
            status = run.status()
    if line is None:
        return
    for warning in status.warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False)
    ending = "stopped" if interrupts.count else options.until.replace("_", " ")
    last = status_text(status, time.monotonic() - began)
    console.print(f"{graph.name} {ending} · {last}", highlight=False)


def in_notebook() -> bool:
    """True inside an IPython kernel, such as that of Jupyter."""
    return "ipykernel" in sys.modules


def _is_shown(options: RunOptions, console: Console) -> bool:
    if options.progress is not None:
        return options.progress
    return console.is_terminal or in_notebook()
