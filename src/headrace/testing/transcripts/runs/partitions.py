"""A small model of watermarks per source partition: the specification that the kernel is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

TIMEOUT = 10_000
"""The partition timeout in milliseconds, if `idle` is unset."""


@dataclass
class Partition:
    """The highest event time of a partition, if any, and the clock at its last row, in milliseconds."""

    highest: int | None
    last_row: int


class PartitionModel:
    """The event time that a source has reached, in milliseconds: the minimum over non-idle partitions."""

    def __init__(self, idle: int | None = None) -> None:
        self.idle = idle
        self._partitions: dict[str, Partition] = {}
        self._unread: Set[str] = frozenset()
        self._reached: int | None = None

    def complete(
        self, rows: Mapping[str, int | None], now: int, unread: Set[str] = frozenset()
    ) -> int | None:
        """Add the highest event times of a micro-batch; return the time reached, None if unknown."""
        for name, highest in rows.items():
            before = self._partitions.get(name, Partition(None, now)).highest
            times = [time for time in (highest, before) if time is not None]
            self._partitions[name] = Partition(max(times, default=None), now)
        self._unread = unread
        return self._advance(self._lowest(now))

    def tick(self, now: int) -> int | None:
        """Return the time reached after partitions have become idle."""
        seen = self._partitions_with_rows()
        if not seen:
            return None
        if (
            self.idle is not None
            and not self._unread
            and all(self._is_idle(part, now) for part in self._partitions.values())
        ):
            last = max(part.last_row for part in self._partitions.values())
            return self._advance(max(seen.values()) + now - last)
        return self._advance(self._lowest(now))

    def _partitions_with_rows(self) -> dict[str, int]:
        return {name: part.highest for name, part in self._partitions.items() if part.highest is not None}

    def _lowest(self, now: int) -> int | None:
        seen = self._partitions_with_rows()
        if self._unread - seen.keys():
            return None
        top = max(seen.values(), default=None)
        return min(
            (
                time
                for name, time in seen.items()
                if name in self._unread
                or not self._is_idle(self._partitions[name], now)
                or (self.idle is None and time == top)
            ),
            default=None,
        )

    def _is_idle(self, partition: Partition, now: int) -> bool:
        return now - partition.last_row >= (TIMEOUT if self.idle is None else self.idle)

    def _advance(self, time: int | None) -> int | None:
        if time is not None:
            self._reached = max(time, self._reached if self._reached is not None else time)
        return self._reached
