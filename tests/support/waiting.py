"""Waits with a deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

TIMEOUT = float(os.environ.get("HEADRACE_TEST_TIMEOUT", "300"))
"""Seconds: many times what anything here takes, unless the machine runs many other processes."""


def wait_until(holds: Callable[[], bool], running: Any = None) -> None:
    """Wait until a condition holds; raise the error of the run, if it failed meanwhile."""
    deadline = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < deadline, "it didn't happen"
        if running is not None:
            running.wait(0.1)
        else:
            time.sleep(0.02)
