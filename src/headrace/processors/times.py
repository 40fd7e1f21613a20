"""Times of processors: microseconds since 1970, and datetimes in UTC for the user."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

END = 253370764800000000
"""9999-01-01: a watermark at or after this time ends the input."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass
class BatchTime:
    """Watermark and clock of a micro-batch, in microseconds."""

    watermark: int | None = None
    clock: int = 0
    timed: bool = True
    """False if rows have no time: then state expires by the clock."""

    @property
    def is_over(self) -> bool:
        """True if the input has ended."""
        return self.watermark is not None and self.watermark >= END


def to_micros(at: datetime) -> int:
    """Return a time in microseconds; one without a zone is UTC."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def to_datetime(micros: int | None) -> datetime | None:
    """Return a time in UTC."""
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
