"""The log of a driver: one record per query and period, with time, level, step and epoch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.dashboard.stored.logs import parse_records
from headrace.jobs.logging import EpochLog, LineFormatter
from headrace.runtime.progress.status import QueryStatus, Status


def status(*queries: QueryStatus, **facts: Any) -> Status:
    return Status(True, 0, 0, 0.0, None, None, 0, queries=queries, **facts)


@pytest.fixture
def lines() -> Iterator[list[str]]:
    written: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler, logger = Handler(), logging.getLogger("headrace.epochs")
    handler.setFormatter(LineFormatter())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_epochs_of_a_query_are_one_record_per_period(lines: list[str]) -> None:
    log = EpochLog(period=3600)
    log.add(status(phase="reading"))
    log.add(status(QueryStatus("totals", 0, 40, batch_ms=120), warnings=("the clock is ahead",)))
    log.add(status(QueryStatus("totals", 5, 90), warnings=("the clock is ahead",)))
    log.add(status(QueryStatus("totals", 9, 140)), last=True)
    records = parse_records(lines)
    assert [(record.level, record.step, record.epoch) for record in records] == [
        ("INFO", "", ""), ("WARN", "", ""), ("INFO", "totals", "0"), ("INFO", "totals", "9"),
    ]  # fmt: skip
    assert records[2].text == "committed: 40 rows read, 120 ms for the last epoch, watermark not set"
    assert records[3].text.startswith("committed from epoch 1 on: 100 rows read")


def test_rows_of_the_run_that_drains_are_counted_from_zero(lines: list[str]) -> None:
    log = EpochLog()
    log.add(status(QueryStatus("totals", 4, 40)), last=True)
    log.begin_run()
    log.add(status(QueryStatus("totals", 6, 7, watermark="9999-12-31T23:58:59.000Z")), last=True)
    [_, drained] = parse_records(lines)
    text = "committed from epoch 5 on: 7 rows read, 0 ms for the last epoch, watermark end of the input"
    assert drained.text == text
