"""The latency benchmark: rows that waited for the end of a batch, and the options of its trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.latency import trial
from benchmarks.latency.figures import Shares, pauses, split_by_pause
from benchmarks.latency.trial import round_up_to_batches

from headrace.runtime.options import RunOptions

STEADY = [(at, at + 2) for at in range(0, 10_000, 10)]
"""A result every 10 ms, 2 ms after its record."""


def with_pause(begin: int, end: int) -> list[tuple[int, int]]:
    """Return steady rows; those sent between `begin` and `end` are written at `end`."""
    return [(sent, end + 1 if begin <= sent < end else written) for sent, written in STEADY]


def test_the_pause_of_a_batch_is_the_longest_time_without_a_result_around_its_commit() -> None:
    assert pauses(with_pause(5_000, 5_400), commits=[5_100.0]) == [(4_992, 5_401)]


def test_rows_in_flight_during_a_pause_and_rows_of_its_backlog_met_it() -> None:
    rows = with_pause(5_000, 5_400)
    between, met = split_by_pause(rows, pauses(rows, commits=[5_100.0]))
    assert (met[0][0], met[-1][0]) == (5_000, 5_810)
    assert len(between) + len(met) == len(rows)
    assert Shares.of(between) == Shares(918, 2, 2, 2, 2)
    assert Shares.of(met).max == 401


def test_without_a_commit_every_row_is_between() -> None:
    assert pauses(STEADY, commits=[]) == []
    assert split_by_pause(STEADY, []) == (STEADY, [])
    assert Shares.of([]) == Shares(0, 0, 0, 0, 0)


def test_real_time_is_measured_over_whole_batches() -> None:
    assert round_up_to_batches(75, "1 minute") == 120
    assert round_up_to_batches(120, "1 minute") == 120
    assert round_up_to_batches(40, "8 seconds") == 40


@pytest.mark.parametrize("mode", ["real time", "micro-batch"])
def test_a_trial_runs_with_valid_options(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[RunOptions] = []

    class Recorder:
        def run(self, **keywords: Any) -> None:
            options.append(RunOptions(**keywords))

    monkeypatch.setattr(trial, "build", lambda *_: Recorder())
    trial.run_child(json.dumps(["localhost:9092", "t", mode, "stateless", str(tmp_path), "1 minute", {}]))
    assert [each.mode for each in options] == ["real_time" if mode == "real time" else "micro_batch"]
