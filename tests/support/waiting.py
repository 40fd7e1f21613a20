"""Waits with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

TIMEOUT = 300.0
"""Seconds: many times what anything here takes, also on a machine that has other things to do."""


def wait_until(holds: Callable[[], bool], running: Any = None) -> None:
    """Wait until a condition holds; raise the error of the run, if it failed meanwhile."""
    deadline = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < deadline, "it didn't happen"
        if running is not None:
            running.wait(0.1)
        else:
            time.sleep(0.02)
