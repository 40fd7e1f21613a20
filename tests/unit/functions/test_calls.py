"""Calls of user code in a worker, without a JVM: instances, timeouts and async functions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.functions.calls import Callee, call_each, open_callee
from headrace.lowering.code.failures import as_user_code_error


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


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a worker without instances."""
    monkeypatch.delitem(sys.modules, "__headrace_worker__", raising=False)


def make_model(log: list[str], name: str) -> type:
    """Return a class that notes when it is opened and closed."""

    class Model:
        def open(self) -> None:
            log.append(f"open {name}")

        def close(self) -> None:
            log.append(f"close {name}")

        def __call__(self, row: Any) -> Any:
            return row

    return Model


@pytest.mark.usefixtures("worker")
def test_other_code_of_a_step_closes_the_instance_before_it() -> None:
    log: list[str] = []
    old, new, other = (make_model(log, name) for name in ("old", "new", "other"))
    for token, step, model in [("1", "a", old), ("2", "b", other), ("1", "a", old), ("3", "a", new)]:
        open_callee(token, step, model)
    assert log == ["open old", "open other", "close old", "open new"]


@pytest.mark.usefixtures("worker")
def test_two_runs_with_a_step_of_the_same_name_keep_their_instances() -> None:
    log: list[str] = []
    models = {name: make_model(log, name) for name in ("first", "second")}
    for token in ["first", "second"] * 5:
        open_callee(token, "a", models[token])
    assert log == ["open first", "close first", "open second", "open first"]


@pytest.mark.usefixtures("worker")
def test_a_worker_closes_the_oldest_of_too_many_instances() -> None:
    log: list[str] = []
    for number in range(33):
        open_callee("token", f"step {number}", make_model(log, str(number)))
    assert [line for line in log if line.startswith("close")] == ["close 0"]


class Unopened:
    def open(self) -> None:
        raise FileNotFoundError("no model\nat /models")

    def __call__(self, row: Any) -> Any:
        return row


class NeedsArgument:
    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, row: Any) -> Any:
        return row


def test_a_class_that_cannot_be_opened_names_step_and_line() -> None:
    with pytest.raises(RuntimeError) as caught:
        open_callee("token", "scored", Unopened)
    line = Unopened.open.__code__.co_firstlineno + 1
    what = f"cannot open Unopened: FileNotFoundError: no model at /models ({__file__}:{line} in open)"
    assert str(caught.value) == f"headrace function [scored] {what}"
    pipeline = Pipeline("models")
    tx = pipeline.read("tx", connect.memory(rows=[]), schema="n int")
    tx.map("scored", Unopened, output="n int").write("out", connect.memory())
    translated = as_user_code_error(pipeline._graph, caught.value)
    assert translated is not None
    assert translated.what == what
    assert translated.where.endswith("`scored`")
    assert translated.hint == (
        "it failed before its first row. No row is lost: the next run processes the micro-batch again"
    )


def test_a_class_that_cannot_be_created_names_step_and_line() -> None:
    with pytest.raises(RuntimeError) as caught:
        open_callee("token", "scored", NeedsArgument)
    line = NeedsArgument.__call__.__code__.co_firstlineno
    assert str(caught.value).startswith("headrace function [scored] cannot open NeedsArgument: TypeError: ")
    assert str(caught.value).endswith(f" ({__file__}:{line} in NeedsArgument)")
