"""Calls of user code in a worker, without a JVM: instances, timeouts and async functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.functions.calls import Callee, call_each


@pytest.fixture
def make_callee() -> Iterator[Callable[[Any], Callee]]:
    """Return a function that opens user code; it is closed after the test."""
    opened: list[Callee] = []

    def make(target: Any) -> Callee:
        opened.append(Callee(target))
        return opened[-1]

    yield make
    for callee in opened:
        callee.close()


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_a_timeout_error_of_an_async_function_is_its_own(
    make_callee: Callable[[Any], Callee], timeout: float | None
) -> None:
    async def f(row: int) -> int:
        if row == 1:
            raise TimeoutError("the server is slow")
        return row

    good, failure = call_each(make_callee(f), [0, 1], "f", concurrency=2, timeout=timeout)
    assert good == 0
    assert failure.reason.startswith("TimeoutError: the server is slow (")
    assert "test_calls.py:" in failure.reason
    assert "raise TimeoutError" in failure.traceback


def test_an_async_call_that_times_out_names_the_line_at_which_it_waits(
    make_callee: Callable[[Any], Callee],
) -> None:
    async def f(row: int) -> int:
        await asyncio.Event().wait()
        return row

    [failure] = call_each(make_callee(f), [0], "f", concurrency=1, timeout=0.01)
    assert failure.reason.startswith("TimeoutError: no result after 0.01 seconds (")
    assert failure.reason.endswith(f"test_calls.py:{f.__code__.co_firstlineno + 1} in f)")
    assert "asyncio.Event().wait()" in failure.traceback
