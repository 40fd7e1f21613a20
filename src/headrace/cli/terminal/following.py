"""Following a run: ask how far it is, show it, and drain it when the user asks for that."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from headrace.cli.terminal.interrupts import Interrupts
from headrace.cli.terminal.views import View

if TYPE_CHECKING:
    from headrace.runtime.progress import Status
    from headrace.runtime.run import Running

TICK = 0.25
"""Seconds between two looks; also how long a Ctrl-C may go unnoticed."""


def follow(running: Running, view: View, interrupts: Interrupts) -> None:
    """Show the run until it has ended.

    Raises:
        HeadraceError: the run failed.
        KeyboardInterrupt: the user wants it ended at once.
    """
    draining: Future[None] | None = None
    told = set[str]()
    # Draining waits for the batch under way, and this thread must stay free for the second Ctrl-C.
    aside = ThreadPoolExecutor(1, thread_name_prefix="drain")
    with view:
        while not running.wait(TICK):
            if interrupts.count and draining is None:
                view.note("draining: the batch under way finishes first; Ctrl-C again stops at once")
                draining = aside.submit(running.drain)
            status = running.status()
            tell_faults(status, view, told)
            view.show(status)
        tell_faults(running.status(), view, told)
    if draining is not None:
        draining.result()


def tell_faults(status: Status, view: View, told: set[str]) -> None:
    """Tell what is wrong with rules that were read while the run goes on, each fault once."""
    for step, rules in status.rules.items():
        for fault in rules.faults:
            if fault not in told:
                told.add(fault)
                view.note(f"a rule of `{step}` can't be used: {fault}")
