"""The state of the key that a processor is visiting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headrace.processors.codec import Converters, dump, load
from headrace.processors.expiring import ExpiringList, ExpiringMap
from headrace.processors.state import Cell
from headrace.processors.times import BatchTime, to_datetime

_FAR = 2**62


class KeyState:
    """The layout of a processor's state, and its conversion to bytes."""

    def __init__(self, cells: Mapping[str, Cell], converters: Converters) -> None:
        self.cells = cells
        self._converters = converters

    def dump(
        self, values: Mapping[str, Any], stamps: Mapping[str, int], timers: Mapping[str, int]
    ) -> bytes | None:
        """Return the state as bytes; None if the key has no state."""
        content: dict[str, Any] = {}
        times: dict[str, Any] = {}
        for name, held in values.items():
            if self.cells[name].is_empty(held):
                continue
            expires = isinstance(held, ExpiringList | ExpiringMap)
            if expires or name in stamps:
                times[name] = held.stamps if expires else stamps[name]
            value = held.to_plain() if expires else held
            content[name] = self._converters[name][0](value) if name in self._converters else value
        return dump((content, times, dict(timers))) if content or timers else None

    def load(self, content: bytes | None, visit: Visit) -> None:
        """Set the state of a visit; attributes that the bytes lack have their defaults."""
        visit.values, visit.stamps, visit.timers = {}, {}, {}
        if content is None:
            return
        values, times, visit.timers = load(content)
        for name, value in values.items():
            if name in self.cells:  # others were declared by an earlier version of the class
                plain = self._converters[name][1](value) if name in self._converters else value
                self._restore(visit, self.cells[name], plain, times.get(name))

    def _restore(self, visit: Visit, cell: Cell, value: Any, times: Any) -> None:
        if cell.kind == "value":
            visit.values[cell.name] = value
            if times is None and cell.ttl is not None:  # the class gained the ttl: count it from now
                times = visit.stamp() or None
            if times is not None:
                visit.stamps[cell.name] = times
        elif cell.ttl is not None and times is not None:
            held: Any = ExpiringList if cell.kind == "list" else ExpiringMap
            visit.values[cell.name] = held(value, visit.stamp, times)
        else:
            visit.values[cell.name] = cell.hold(value, visit.stamp)

    def expire(self, visit: Visit, now: int) -> None:
        """Drop values whose time to live is over."""
        for cell in self.cells.values():
            if cell.ttl is None or cell.name not in visit.values:
                continue
            held = visit.values[cell.name]
            if isinstance(held, ExpiringList | ExpiringMap):
                held.expire(now - cell.ttl)
            elif visit.stamps.get(cell.name, _FAR) <= now - cell.ttl:
                del visit.values[cell.name], visit.stamps[cell.name]

    def next_expiry(self, visit: Visit) -> int | None:
        """Return the time at which the first value expires."""
        times = [
            min(stamps, default=_FAR) + cell.ttl
            for cell in self.cells.values()
            if cell.ttl is not None and (stamps := _stamps(visit, cell))
        ]
        return min(times, default=None)


def _stamps(visit: Visit, cell: Cell) -> list[int]:
    held = visit.values.get(cell.name)
    if cell.is_empty(held):
        return []
    if isinstance(held, ExpiringList):
        return held.stamps
    if isinstance(held, ExpiringMap):
        return list(held.stamps.values())
    return [visit.stamps[cell.name]] if cell.name in visit.stamps else []


class Visit:
    """The key that is being processed: its state, its timers, and the time of the current call."""

    def __init__(self, state: KeyState) -> None:
        self._state = state
        self.key: Any = None
        self.time: int | None = None
        self.watermark: int | None = None
        self.clock = 0
        self.values: dict[str, Any] = {}
        self.stamps: dict[str, int] = {}
        self.timers: dict[str, int] = {}
        self._timed = True
        self._side: list[tuple[str, Any]] = []

    def enter(self, key: Any, content: bytes | None, batch_time: BatchTime) -> None:
        """Restore the state of a key, without expired values."""
        self.key, self.time = key, None
        self.watermark, self.clock, self._timed = batch_time.watermark, batch_time.clock, batch_time.timed
        self._state.load(content, self)
        now = self.watermark if self._timed else self.clock
        if now is not None and self.values:
            self._state.expire(self, now)

    def read(self, cell: Cell) -> Any:
        """Return the state of a cell."""
        if cell.name not in self.values:
            self.values[cell.name] = cell.fresh(self.stamp)
        held = self.values[cell.name]
        if cell.is_mutable and cell.is_empty(held):  # it may be changed in place now
            self.stamps[cell.name] = self.stamp()
        return held

    def write(self, cell: Cell, value: Any) -> None:
        """Assign the state of a cell; `self.recent += [1]` assigns the list that it has changed."""
        if cell.kind != "value" and value is self.values.get(cell.name):
            return
        self.values[cell.name] = cell.hold(value, self.stamp)
        if cell.kind == "value" and cell.ttl is not None:
            self.stamps[cell.name] = self.stamp()

    def stamp(self) -> int:
        """Return the time from which the TTL of a value that is written now counts."""
        if not self._timed:
            return self.clock
        return self.time if self.time is not None else self.watermark or 0

    def start_call(self) -> list[tuple[str, Any]]:
        """Return the list that collects the rows which the next call emits to side outputs."""
        self._side = []
        return self._side

    def emit(self, output: str, row: Any) -> None:
        """Emit a row to a side output."""
        self._side.append((output, row))

    def base_time(self, timer: Any) -> int:
        """Return the time that `after` of a timer counts from."""
        if timer.domain == "clock":
            return self.clock
        if self.time is None:
            raise ValueError(f"timer `{timer.name}`: the row has no event time")
        return self.time

    def pending_time(self, name: str) -> datetime | None:
        """Return the pending time of a timer."""
        return to_datetime(self.timers.get(name))

    def dump(self) -> bytes | None:
        """Return the state as bytes; None if there is none."""
        return self._state.dump(self.values, self.stamps, self.timers)

    def next_due(self, domains: Mapping[str, str]) -> tuple[int | None, int | None]:
        """Return when to visit the key again, by event time and by the clock."""
        event = [time for name, time in self.timers.items() if domains.get(name) == "event"]
        clock = [time for name, time in self.timers.items() if domains.get(name) == "clock"]
        expiry = self._state.next_expiry(self)
        if expiry is not None:
            (event if self._timed else clock).append(expiry)
        return min(event, default=None), min(clock, default=None)


def describe_state(content: bytes) -> str:
    """Return stored state as JSON text: the values by name, and the pending times of timers."""
    values, _, timers = load(content)
    times = {name: to_datetime(time) for name, time in timers.items()}
    return json.dumps({**values, **({"timers": times} if times else {})}, default=str)
