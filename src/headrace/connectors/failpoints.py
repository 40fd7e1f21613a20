"""Places where a test can end the process: between all steps of every delivery protocol.

`HEADRACE_FAILPOINT=files.manifest` kills the process with SIGKILL the first time it gets there,
`files.manifest@3` the third time. A test in the same process uses `armed`, which raises instead.

Names are `<protocol>.<step>`, and a step is reached when what it names has just been done.
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
    """What `armed` raises; not an `Exception`, so that nothing on the way up can mend it."""


def reach(name: str) -> None:
    """Say that the step `name` is done; does nothing unless a test wants to fail here."""
    for hook in tuple(_hooks):
        hook(name)
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _reached[name] += 1
    target, _, count = wanted.partition("@")
    if name == target and _reached[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def watched(hook: Callable[[str], None]) -> Iterator[None]:
    """Call `hook` with each name that is reached inside the block.

    >>> with watched(print):
    ...     reach("files.manifest")
    files.manifest
    """
    _hooks.append(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)


@contextmanager
def armed(name: str, count: int = 1) -> Iterator[None]:
    """Raise `Crash` the `count`-th time that `name` is reached inside the block.

    >>> try:
    ...     with armed("files.manifest"):
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

    with watched(crash):
        yield
