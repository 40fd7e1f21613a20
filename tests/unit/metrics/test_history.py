"""History of metrics: resolutions, peaks, size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.jobs.store.database import Database
from headrace.jobs.store.schema import create_tables
from headrace.metrics.history import LEVELS, History, details_of, flatten, merge


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(str(tmp_path / "jobs.db"))
    create_tables(database)
    yield database
    database.close()


def test_a_short_period_is_read_at_the_finest_resolution(database: Database) -> None:
    history, now = History(database), time.time()
    for second in range(0, 60, 5):
        history.add("a", now - 60 + second, {"rows_in": second})
    samples = history.read("a", now - 120, now)
    assert 6 <= len(samples) <= 7
    assert samples[-1]["rows_in"] == 55


def test_a_long_period_is_read_at_a_coarse_resolution(database: Database) -> None:
    history, now = History(database), time.time()
    for minute in range(120):
        history.add("a", now - 60 * minute, {"rows_in": minute})
    assert len(history.read("a", now - 86_400, now, points=200)) <= 14


def test_a_peak_stays_visible_in_a_coarse_sample() -> None:
    combined = merge({"latency_ms_p99": 900.0, "rows_in": 5}, {"latency_ms_p99": 20.0, "rows_in": 9})
    assert combined == {"latency_ms_p99": 900.0, "rows_in": 9}


def test_old_samples_are_deleted(database: Database) -> None:
    history = History(database)
    history.add("a", time.time() - LEVELS[0][1] - 100, {"rows_in": 1})
    history.clean_if_due()
    rows = database.rows("SELECT resolution FROM samples ORDER BY resolution")
    assert [row["resolution"] for row in rows] == [level for level, _ in LEVELS[1:]]


def test_missing_numbers_are_left_out() -> None:
    assert flatten({"lag": None, "latency_ms": {"p50": None}, "late": 0}) == {"late": 0}


def test_partitions_with_the_highest_lag_are_stored() -> None:
    lags = {f"tx-{number}": number for number in range(20)}
    details = details_of({"steps": {"a": {"rate_in": None, "rate_out": 1.25}}, "lag_by_partition": lags})
    assert details == {"out/a": 1.25, **{f"lag/tx-{number}": number for number in (19, 18, 17, 16, 15)}}
