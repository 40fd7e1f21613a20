"""Waiting for what others do in their own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300.0
"""Seconds: many times what anything here takes, also on a machine that has other things to do."""


def wait_until(holds: Callable[[], bool], running: Any = None) -> None:
    """Look until it holds; what the run died of is told instead, if it did."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it didn't happen"
        if running is not None:
            running.wait(0.1)
        else:
            time.sleep(0.02)
