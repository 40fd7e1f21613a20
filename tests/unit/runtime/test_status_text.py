"""The status line of a run."""

from __future__ import annotations

from dataclasses import replace

from headrace.runtime.progress.status import Status
from headrace.runtime.progress.status_text import status_text

RUNNING = Status(
    active=True,
    rows_in=2,
    rows_out=1,
    rate=20,
    latency_ms=5,
    watermark="2026-03-01T12:00:00.000Z",
    late=0,
    slowest_partition="tx payments-3",
)


def test_status_line_names_the_partition_that_determines_the_watermark() -> None:
    assert "watermark 2026-03-01 12:00:00 (slowest: tx payments-3) ·" in status_text(RUNNING, 65)
    assert "slowest" not in status_text(replace(RUNNING, slowest_partition=None), 65)


def test_drained_run_has_no_slowest_partition() -> None:
    drained = replace(RUNNING, watermark="9999-12-31T23:59:59.000Z")
    assert "slowest" not in status_text(drained, 65)


def test_phase_is_shown_before_the_first_epoch() -> None:
    assert status_text(replace(RUNNING, phase="reading"), 65) == "01:05 · reading"
