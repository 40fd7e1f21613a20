"""The latency benchmark tells rows that met the end of a batch from others."""

from __future__ import annotations

from benchmarks.latency.figures import Shares, pauses, told_apart
from benchmarks.latency.trial import whole

STEADY = [(at, at + 2) for at in range(0, 10_000, 10)]
"""A result for each 10 ms, 2 ms after its record."""


def with_pause(begin: int, end: int) -> list[tuple[int, int]]:
    """The same, but what comes from `begin` on is written at `end`."""
    return [(sent, end + 1 if begin <= sent < end else written) for sent, written in STEADY]


def test_the_pause_of_a_batch_is_the_longest_time_without_a_result_around_its_commit() -> None:
    assert pauses(with_pause(5_000, 5_400), commits=[5_100.0]) == [(4_992, 5_401)]


def test_rows_on_their_way_in_a_pause_met_it_and_those_that_came_while_it_was_caught_up() -> None:
    rows = with_pause(5_000, 5_400)
    between, met = told_apart(rows, pauses(rows, commits=[5_100.0]))
    assert (met[0][0], met[-1][0]) == (5_000, 5_810)
    assert len(between) + len(met) == len(rows)
    assert Shares.of(between) == Shares(918, 2, 2, 2, 2)
    assert Shares.of(met).max == 401


def test_without_a_commit_every_row_is_between() -> None:
    assert pauses(STEADY, commits=[]) == []
    assert told_apart(STEADY, []) == (STEADY, [])
    assert Shares.of([]) == Shares(0, 0, 0, 0, 0)


def test_real_time_is_measured_over_whole_batches() -> None:
    assert whole(75, "1 minute") == 120
    assert whole(120, "1 minute") == 120
    assert whole(40, "8 seconds") == 40
