"""Follows a run or a server on the terminal until it ends or Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.cli.terminal.views import View
from headrace.runtime.progress.interrupts import Interrupts, each_tick

if TYPE_CHECKING:
    from headrace.runtime.handle import RunHandle
    from headrace.runtime.progress.status import Status


def follow(handle: RunHandle, view: View, interrupts: Interrupts) -> None:
    """Show the run until it has ended.

    Raises:
        HeadraceError: the run failed.
        KeyboardInterrupt: the user pressed Ctrl-C twice.
    """
    reported = set[str]()
    with view:
        for _ in each_tick(handle, interrupts, view.note):
            status = handle.status()
            report_once(status, view, reported)
            view.show(status)
        report_once(handle.status(), view, reported)


def wait_for_interrupt(interrupts: Interrupts, is_running: Callable[[], bool]) -> None:
    """Wait until Ctrl-C, or until a server has ended."""
    timer = threading.Event()
    while not interrupts.count and is_running():
        timer.wait(0.2)


def report_once(status: Status, view: View, reported: set[str]) -> None:
    """Report warnings, and faults of rules that were read during the run, each once."""
    faults = [
        f"a rule of `{step}` cannot be used: {fault}"
        for step, rules in status.rules.items()
        for fault in rules.faults
    ]
    for text in (*(f"warning: {warning}" for warning in status.warnings), *faults):
        if text not in reported:
            reported.add(text)
            view.note(text)
