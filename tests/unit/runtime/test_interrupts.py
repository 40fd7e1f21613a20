"""Ctrl-C in a script that calls `run()`."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.runtime.progress import live


class FakeRun:
    """A run that receives a Ctrl-C in each of its first `interrupts` waits and ends when it is stopped."""

    def __init__(self, interrupts: int) -> None:
        self.interrupts = interrupts
        self.calls: list[str] = []
        self._stopped = threading.Event()

    def __enter__(self) -> FakeRun:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.calls.append("left" if error is None else "left by error")

    def wait(self, timeout: float) -> bool:
        if self.interrupts:
            self.interrupts -= 1
            os.kill(os.getpid(), signal.SIGINT)
            return False
        return self._stopped.wait(10)

    def stop(self) -> None:
        self.calls.append("stop")
        self._stopped.set()

    def status(self) -> Any:
        return SimpleNamespace(warnings=())


def pipeline_with(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Return a pipeline whose run is `run`, started like Spark: with a signal handler of its own."""

    def start(graph: Any, options: Any, on_phase: Any, *, session: str) -> FakeRun:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        on_phase("planning")
        return run

    monkeypatch.setattr(live, "start", start)
    monkeypatch.setattr(live, "status_text", lambda status, seconds: "in 3")
    pipeline = Pipeline("p")
    pipeline.read("rows", connect.memory(), schema="v int").write("out", connect.memory())
    return pipeline


def test_first_interrupt_is_a_graceful_stop_and_run_returns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, run = signal.getsignal(signal.SIGINT), FakeRun(interrupts=1)
    pipeline_with(run, monkeypatch).run(progress=True)
    assert run.calls == ["stop", "left"]
    assert "stopping after the current micro-batch" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_second_interrupt_raises_without_internal_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun(interrupts=2)
    with pytest.raises(KeyboardInterrupt) as raised:
        pipeline_with(run, monkeypatch).run()
    assert run.calls[-1] == "left by error"
    assert [frame.name for frame in raised.traceback][1:] == ["call"]


def test_run_outside_of_the_main_thread_needs_no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun(interrupts=0)
    run.stop()
    monkeypatch.setattr(signal, "signal", lambda *args: pytest.fail("only the main thread receives signals"))
    monkeypatch.setattr(live, "start", lambda graph, options, on_phase, *, session: run)
    pipeline = Pipeline("p")
    pipeline.read("rows", connect.memory(), schema="v int").write("out", connect.memory())
    failures: list[BaseException] = []

    def call() -> None:
        try:
            pipeline.run(progress=False)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert failures == []
