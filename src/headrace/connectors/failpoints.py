"""Fail-points: places where a test can kill the process, after each step of every delivery protocol.

`HEADRACE_FAILPOINT=files.manifest` kills the process with SIGKILL the first time it gets there,
`files.manifest@3` the third time. A test in the same process uses `arm`, which raises instead.

Names are `<protocol>.<step>`; a fail-point is reached right after its step.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

VARIABLE = "HEADRACE_FAILPOINT"

_reached: Counter[str] = Counter()
_hooks: list[Callable[[str], None]] = []


class Crash(BaseException):
    """Raised by `arm`; not an `Exception`, so that no handler on the way catches it."""


def reach(name: str) -> None:
    """Mark a step as done; does nothing unless a test fails here."""
    for hook in tuple(_hooks):
        hook(name)
    failpoint = os.environ.get(VARIABLE)
    if failpoint is None:
        return
    _reached[name] += 1
    target, _, count = failpoint.partition("@")
    if name == target and _reached[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def watch(hook: Callable[[str], None]) -> Iterator[None]:
    """Call `hook` with each name that is reached inside the block.

    >>> with watch(print):
    ...     reach("files.manifest")
    files.manifest
    """
    _hooks.append(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)


@contextmanager
def arm(name: str, count: int = 1) -> Iterator[None]:
    """Raise `Crash` the `count`-th time that `name` is reached inside the block.

    >>> try:
    ...     with arm("files.manifest"):
    ...         reach("files.manifest")
    ... except Crash as crash:
    ...     print(crash)
    files.manifest
    """
    seen = 0

    def crash(reached: str) -> None:
        nonlocal seen
        seen += reached == name
        if reached == name and seen == count:
            raise Crash(name)

    with watch(crash):
        yield
