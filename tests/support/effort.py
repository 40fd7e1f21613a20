"""The number of generated cases of a test."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fixed")


def examples(number: int) -> int:
    """Return a third of the cases in CI, where they are the same in every run; all with `HYPOTHESIS_PROFILE=random`."""
    return number if PROFILE == "random" else number // 3
