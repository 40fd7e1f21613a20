"""A limit of the CPU time for checking a document, so that no document keeps a service busy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from headrace.errors import DocumentError, Problem

SECONDS = 1.5
_TOO_LONG = "it takes more than {seconds:g} seconds of CPU time to check"
TOO_DEEP = "it is nested too deeply"
TOO_DEEP_HINT = "divide it into several steps or pipelines"
_deadline: ContextVar[float | None] = ContextVar("CPU time of the thread at which a check ends", default=None)


class EffortError(DocumentError):
    """A document is too large or too deep to be checked."""


@contextmanager
def limit_effort(file: str, seconds: float = SECONDS) -> Iterator[None]:
    """Limit the CPU time and the depth of calls inside the context.

    Raises:
        EffortError: a limit is exceeded.
    """
    token = _deadline.set(time.thread_time() + seconds)
    try:
        yield
    except EffortError:
        what = _TOO_LONG.format(seconds=seconds)
        raise EffortError([Problem(file, what, "divide it into several pipelines")]) from None
    except RecursionError:
        raise EffortError([Problem(file, TOO_DEEP, TOO_DEEP_HINT)]) from None
    finally:
        _deadline.reset(token)


def check_effort() -> None:
    """Raise an error if the CPU time is used up; called between pieces of work of less than a second."""
    deadline = _deadline.get()
    if deadline is not None and time.thread_time() > deadline:
        raise EffortError([Problem("", _TOO_LONG.format(seconds=SECONDS))])
