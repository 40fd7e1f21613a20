"""Following a run on the terminal: show its status, and stop it gracefully on Ctrl-C."""

from __future__ import annotations

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
        KeyboardInterrupt: the user stopped it at once.
    """
    reported = set[str]()
    with view:
        for _ in each_tick(handle, interrupts, view.note):
            status = handle.status()
            report_once(status, view, reported)
            view.show(status)
        report_once(handle.status(), view, reported)


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
