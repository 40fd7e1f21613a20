"""Following a run: ask how far it is, show it, and drain it when the user asks for that."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.cli.interrupts import Interrupts
from headrace.cli.views import View

if TYPE_CHECKING:
    from headrace.engine.run import Running

TICK = 0.25
"""Seconds between two looks; also how long a Ctrl-C may go unnoticed."""


def follow(running: Running, view: View, interrupts: Interrupts) -> None:
    """Show the run until it has ended.

    Raises:
        HeadraceError: the run failed.
        KeyboardInterrupt: the user wants it ended at once.
    """
    draining: threading.Thread | None = None
    with view:
        while not running.wait(TICK):
            if interrupts.count and draining is None:
                view.note("draining: the batch under way finishes first; Ctrl-C again stops at once")
                # Draining waits for the batch, and this thread must stay free for the second Ctrl-C.
                draining = threading.Thread(target=running.drain, name="drain", daemon=True)
                draining.start()
            view.show(running.status())
    if draining is not None:
        draining.join()
