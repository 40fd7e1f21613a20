"""Format the status of a run as one line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.runtime.progress.status import Status


def status_text(status: Status, seconds: float) -> str:
    """Return a status as one line; before the first epoch, its phase."""
    if status.phase:
        return f"{format_elapsed(seconds)} · {status.phase}"
    parts = [
        format_elapsed(seconds),
        f"in {status.rows_in:,} ({format_rate(status.rate)})",
        f"out {status.rows_out:,}" if status.counted else "",
        f"latency {status.latency_ms:,.0f} ms" if status.latency_ms is not None else "",
        f"watermark {format_time(status.watermark)}{_slowest(status)}" if status.watermark else "",
        f"in open windows {status.in_open_windows:,}" if status.steps else "",
        f"late {status.late:,}" if status.counted else "",
        f"dropped {status.dropped:,}" if status.dropped else "",
        f"dead letters {status.dead_letters:,}" if status.counted else "",
    ]
    return " · ".join(part for part in parts if part)


def _slowest(status: Status) -> str:
    at_end = (status.watermark or "").startswith("9999-")
    return f" (slowest: {status.slowest_partition})" if status.slowest_partition and not at_end else ""


def format_rate(rate: float) -> str:
    """Return a rate, with two significant digits if it is below 10.

    >>> format_rate(12345.6), format_rate(0.123)
    ('12,346/s', '0.12/s')
    """
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s"


def format_time(text: str) -> str:
    """Return a timestamp of Spark's reports without fraction and zone.

    >>> format_time("2026-03-01T12:00:05.250Z")
    '2026-03-01 12:00:05'
    >>> format_time("9999-12-31T23:58:59.999Z")
    'at the end of time'
    """
    if text.startswith("9999-"):  # set by a drain, to close every window
        return "at the end of time"
    return text.replace("T", " ").removesuffix("Z").split(".")[0]


def format_elapsed(seconds: float) -> str:
    """Return a duration as minutes and seconds, with hours if there are any.

    >>> format_elapsed(65), format_elapsed(3725)
    ('01:05', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
