"""Calls of user code: one instance per worker, timeouts, concurrent async calls, errors as values."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import copy
import inspect
import signal
import sys
import threading
import types
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from headrace.functions.failures import RAISED, describe_definition, describe_failure, open_message

_WORKER = "__headrace_worker__"
"""A module of the worker process that holds the instances: code sent by value has no module there."""
_MAX_INSTANCES = 32
"""The maximum number of instances in a worker, those of earlier runs included."""


class Callee:
    """The user's function or processor in this worker, opened once for all tasks of a run."""

    def __init__(self, target: Any) -> None:
        self.instance = target() if isinstance(target, type) else target
        self.function: Callable[..., Any] = self.instance
        self.is_async = is_async(target)
        self.loop = asyncio.new_event_loop() if self.is_async else None
        self._hook("open")

    def close(self) -> None:
        """Call the user's `close`; the instance cannot be used after it."""
        with contextlib.suppress(Exception):
            self._hook("close")
        if self.loop is not None:
            self.loop.close()

    def _hook(self, name: str) -> None:
        hook = getattr(self.instance, name, None) if not inspect.isroutine(self.instance) else None
        result = hook() if callable(hook) else None
        if inspect.isawaitable(result):
            (self.loop or asyncio.new_event_loop()).run_until_complete(_wait(result))


Instances = dict[tuple[str, str], Callee]
"""The instances of a worker by step and token."""


async def _wait(result: Awaitable[Any]) -> None:
    await result


def is_async(target: Any) -> bool:
    """Return True for an async function, and for a class or an instance whose call is async."""
    if inspect.isroutine(target):
        return inspect.iscoroutinefunction(target)
    call = getattr(target if isinstance(target, type) else type(target), "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(call)


def open_callee(token: str, step: str, target: Any) -> Callee:
    """Return this worker's instance of a step's code.

    The first instance of other code for the step closes the ones before it. Code that the worker has opened
    before does not, so that two runs that have a step of the same name do not close each other's each time.
    """
    instances, seen = _worker_instances()
    name = (step, token)
    if name not in instances:
        if name not in seen:
            close_all(instances, [other for other in instances if other[0] == step])
        instances[name] = _open(step, target)
        seen.add(name)
        close_all(instances, list(instances)[:-_MAX_INSTANCES])
    return instances[name]


def _worker_instances() -> tuple[Instances, set[tuple[str, str]]]:
    """Return the instances of this worker, and the names of all that it has opened."""
    worker = sys.modules.get(_WORKER)
    if worker is None:
        worker = sys.modules[_WORKER] = types.ModuleType(_WORKER)
        instances: Instances = {}
        worker.__dict__.update(instances=instances, seen=set())
        # Spark's forked workers leave without it; it serves workers that Spark does not fork.
        atexit.register(lambda: close_all(instances, list(instances)))
    return worker.__dict__["instances"], worker.__dict__["seen"]


def _open(step: str, target: Any) -> Callee:
    try:
        return Callee(target)
    except RAISED as error:
        name = getattr(target, "__qualname__", type(target).__qualname__)
        failure = describe_failure(error, describe_definition(target, name))
        raise RuntimeError(open_message(step, name, failure)) from error


def close_all(instances: Instances, names: Iterable[tuple[str, str]]) -> None:
    """Remove instances from the worker and close them."""
    for name in names:
        instances.pop(name).close()


def call_each(
    callee: Callee,
    rows: Iterable[Any],
    definition: str,
    *,
    concurrency: int,
    timeout: float | None,
    collect: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """Call the function once per row; return the result or `Failure` of each row, in order.

    Args:
        callee: the function.
        rows: its arguments.
        definition: the text of `describe_definition`, for failures.
        concurrency: the maximum number of concurrent calls of an async function.
        timeout: the timeout of a call, in seconds.
        collect: applied to each result of a function that is not async, as part of its call.
    """
    if callee.loop is not None:
        calls = _call_concurrently(callee.function, list(rows), definition, concurrency, timeout)
        return callee.loop.run_until_complete(calls)
    function = callee.function if collect is None else _collect_results(callee.function, collect)
    function = function if timeout is None else _limit_calls(function, timeout)
    results: list[Any] = []
    append, remaining = results.append, iter(rows)
    while True:
        try:
            for row in remaining:
                append(function(row))
        except RAISED as error:
            append(describe_failure(error, definition))
        else:
            return results


def pass_values(callee: Callee, names: Sequence[str], *, wraps: bool) -> Callee:
    """Return a function that is called with the values of these columns instead of the row.

    With `wraps` its result is the value of the only output column, whatever its type.
    """
    function, passed = callee.function, copy.copy(callee)

    def call(row: Any) -> Any:
        result = function(*(row[name] for name in names))
        return (result,) if wraps else result

    async def call_async(row: Any) -> Any:
        result = await function(*(row[name] for name in names))
        return (result,) if wraps else result

    passed.function = call_async if callee.is_async else call
    return passed


def _collect_results(function: Callable[..., Any], collect: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda row: collect(function(row))


def _limit_calls(function: Callable[..., Any], timeout: float) -> Callable[[Any], Any]:
    def call(row: Any) -> Any:
        with time_limit(timeout):
            return function(row)

    return call


async def _call_concurrently(
    function: Callable[..., Any],
    rows: Sequence[Any],
    definition: str,
    concurrency: int,
    timeout: float | None,
) -> list[Any]:
    free = asyncio.Semaphore(concurrency)

    async def call(row: Any) -> Any:
        async with free:
            try:
                async with asyncio.timeout(timeout) as limit:
                    return await function(row)
            except RAISED as error:
                cause = _timeout_error(error, timeout) if limit.expired() else error
                return describe_failure(cause, definition)

    return await asyncio.gather(*(call(row) for row in rows))


def _timeout_error(error: BaseException, seconds: float | None) -> BaseException:
    """Return the error of a call that took too long, with the line at which it waited."""
    if not isinstance(error, TimeoutError) or seconds is None:
        return error
    waited = error.__cause__.__traceback__ if error.__cause__ is not None else None
    return TimeoutError(f"no result after {seconds:g} seconds").with_traceback(waited)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` in the block after this time; has no effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"no result after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
