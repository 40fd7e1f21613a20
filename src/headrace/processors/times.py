"""Times of processors: microseconds since 1970, and datetimes in UTC for the user."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

END = 253370764800000000
"""9999-01-01: a watermark at or after this time ends the input."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(at: datetime) -> int:
    """Return a time in microseconds; one without a zone is UTC."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def to_datetime(micros: int | None) -> datetime | None:
    """Return a time in UTC."""
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
