"""Following a run on the terminal: show its status, and stop it gracefully on Ctrl-C."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from headrace.cli.terminal.interrupts import Interrupts
from headrace.cli.terminal.views import View

if TYPE_CHECKING:
    from headrace.runtime.handle import RunHandle
    from headrace.runtime.progress.status import Status

TICK = 0.25
"""Seconds between two status requests, and the longest time until a Ctrl-C takes effect."""


def follow(handle: RunHandle, view: View, interrupts: Interrupts) -> None:
    """Show the run until it has ended.

    Raises:
        HeadraceError: the run failed.
        KeyboardInterrupt: the user stopped it at once.
    """
    stopping: Future[None] | None = None
    reported = set[str]()
    # A graceful stop waits for the current micro-batch; this thread must stay free for the second Ctrl-C.
    executor = ThreadPoolExecutor(1, thread_name_prefix="stop")
    with view:
        while not handle.wait(TICK):
            if interrupts.count and stopping is None:
                view.note("stopping: the current micro-batch finishes first; Ctrl-C again stops at once")
                stopping = executor.submit(handle.stop)
            status = handle.status()
            report_once(status, view, reported)
            view.show(status)
        report_once(handle.status(), view, reported)
    if stopping is not None:
        stopping.result()


def report_once(status: Status, view: View, reported: set[str]) -> None:
    """Report warnings, and faults of rules that were read during the run, each once."""
    faults = [
        f"a rule of `{step}` can't be used: {fault}"
        for step, rules in status.rules.items()
        for fault in rules.faults
    ]
    for text in (*(f"warning: {warning}" for warning in status.warnings), *faults):
        if text not in reported:
            reported.add(text)
            view.note(text)
