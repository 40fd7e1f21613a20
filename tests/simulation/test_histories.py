"""No history of simulated runs and faults loses, doubles or shows a row too early."""

from __future__ import annotations

import sys

import pytest

from tests.simulation.__main__ import main, simulate_all
from tests.simulation.histories import simulate

SAMPLE = 50
SYSTEM_CALLS = {
    "fcntl.flock", "open", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.scandir",
    "os.truncate", "shutil.rmtree", "socket.connect", "subprocess.Popen", "time.sleep",
}  # fmt: skip
HISTORIES = 2_000
"""A sample; `make delivery` simulates 200,000."""


def test_no_history_loses_or_doubles_a_row_and_every_fault_point_is_reached() -> None:
    report = simulate_all(range(HISTORIES))
    assert report.violations == []
    assert report.unreached == []
    assert (report.histories, report.without_fault) == (HISTORIES, 0)
    assert report.fewest_epochs >= 3
    assert report.fewest_sinks >= 2


def test_a_seed_repeats_its_history_exactly() -> None:
    once, again = (simulate(7, trace=True) for _ in range(2))
    assert once.trace == again.trace
    assert once.injected == again.injected


def test_the_command_prints_the_trace_of_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "7"]) == 0
    printed = capsys.readouterr().out
    assert "delivery.committed" in printed
    assert printed.endswith("seed 7: no violation\n")


def test_no_call_of_a_history_reaches_the_real_operating_system() -> None:
    calls: list[tuple[str, object]] = []
    is_watching = False

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if is_watching and event in SYSTEM_CALLS:
            calls.append((event, arguments[:1]))

    simulate_all(range(SAMPLE))  # imports what the product imports inside functions
    sys.addaudithook(watch)  # it cannot be removed
    is_watching = True
    try:
        simulate_all(range(SAMPLE))
    finally:
        is_watching = False
    assert calls == []
