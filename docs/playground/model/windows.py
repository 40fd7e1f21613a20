"""The specification of windows, triggers and panes as a small model.

One key, values kept as plain lists, time in whole numbers of any unit. The kernel must produce the same; see
`tests/spark/test_windows_model.py`. A batch is `(rows, watermark, clock)`: the watermark acts first, then
rows are added, then triggers are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = tuple[float | None, Any, Any]
"""Event time, value, and what an order-dependent window looks at: a condition's answer or a number."""

NEVER = float("-inf")
END = 253370764800000000  # a watermark from here on ends the input
FOREVER = float("inf")


class Trigger:
    """The state of a trigger for one window: add rows, evaluate, acknowledge a firing."""

    def __init__(self, spec: dict[str, Any]) -> None:
        ((self.kind, self.arg),) = spec.items()
        self.rows = 0
        self.due: float = FOREVER
        self.at = 0
        self.parts = [Trigger(part) for part in self._parts()]
        self.done = [False] * len(self.parts)
        if self.kind == "after_watermark":
            self.on_time = False
            self.early, self.late = self._part("early"), self._part("late")

    def _parts(self) -> Sequence[dict[str, Any]]:
        if self.kind == "repeatedly":
            return [self.arg]
        return self.arg if isinstance(self.arg, list) else []

    def _part(self, name: str) -> Trigger | None:
        return Trigger({"repeatedly": self.arg[name]}) if self.arg.get(name) else None

    def _current(self) -> list[Trigger]:
        """The parts that see rows now."""
        if self.kind == "in_sequence":
            return [self.parts[self.at]]
        if self.kind == "after_watermark":
            part = self.late if self.on_time else self.early
            return [part] if part else []
        return [part for part, done in zip(self.parts, self.done, strict=True) if not done]

    def add(self, rows: int, clock: float) -> None:
        self.rows += rows
        if self.kind == "every" and self.due == FOREVER:
            self.due = clock + self.arg
        for part in self._current():
            part.add(rows, clock)

    def fires(self, passed: bool, clock: float) -> bool:
        if self.kind == "after_count":
            return bool(self.rows >= self.arg)
        if self.kind == "every":
            return clock >= self.due
        if self.kind == "after_watermark" and not self.on_time and passed:
            return True
        results = [part.fires(passed, clock) for part in self._current()]
        return all(results) if self.kind == "all_of" else any(results)

    def acknowledge(self, passed: bool, clock: float) -> bool:
        """Advance to the next pane; return True if the trigger has finished."""
        return getattr(self, f"_acknowledge_{self.kind}", lambda *_: True)(passed, clock)

    def _acknowledge_repeatedly(self, passed: bool, clock: float) -> bool:
        if self.parts[0].acknowledge(passed, clock):
            self.parts = [Trigger(self.arg)]
        return False

    def _acknowledge_in_sequence(self, passed: bool, clock: float) -> bool:
        self.at += self.parts[self.at].acknowledge(passed, clock)
        return self.at == len(self.parts)

    def _acknowledge_after_watermark(self, passed: bool, clock: float) -> bool:
        if passed and not self.on_time:
            self.on_time = True
            return self.late is None
        for part in self._current():
            part.acknowledge(passed, clock)
        return False

    def _acknowledge_parts(self, passed: bool, clock: float) -> list[bool]:
        """Acknowledge the parts that fire and return those that have finished."""
        return [
            done or (part.fires(passed, clock) and part.acknowledge(passed, clock))
            for part, done in zip(self.parts, self.done, strict=True)
        ]

    def _acknowledge_any_of(self, passed: bool, clock: float) -> bool:
        return any(self._acknowledge_parts(passed, clock))

    def _acknowledge_all_of(self, passed: bool, clock: float) -> bool:
        self.done = self._acknowledge_parts(passed, clock)
        return all(self.done)

    def _acknowledge_or_finally(self, passed: bool, clock: float) -> bool:
        body, until = self.parts
        return until.fires(passed, clock) or body.acknowledge(passed, clock)

    def reopen(self) -> None:
        """The window's end is ahead of the watermark again: its on-time pane is still to come."""
        if self.kind == "after_watermark" and self.on_time:
            self.on_time, self.early = False, self._part("early")
        for part in [self.parts[self.at]] if self.kind == "in_sequence" else self.parts:
            part.reopen()

    def merge(self, others: Sequence[Trigger]) -> None:
        """Counts add up, the earliest deadline stays, `in_sequence` goes on at the furthest stage."""
        self.rows += sum(other.rows for other in others)
        self.due = min([self.due, *(other.due for other in others)])
        if self.kind == "in_sequence":
            furthest = max([self, *others], key=lambda each: each.at)
            others = [each for each in [self, *others] if each.at == furthest.at and each is not furthest]
            self.at, self.parts = furthest.at, furthest.parts
        for i, part in enumerate(self.parts):
            part.merge([other.parts[i] for other in others])
        if self.kind == "after_watermark":
            self.on_time = all([self.on_time, *(other.on_time for other in others)])
            for name in ("early", "late"):
                if part := getattr(self, name):
                    part.merge([getattr(other, name) for other in others])


@dataclass
class Pane:
    """One window of the key while it is open."""

    start: float
    end: float
    trigger: Trigger
    everything: list[Any] = field(default_factory=list)
    fresh: list[Any] = field(default_factory=list)
    number: int = 0
    index: int = 0
    rows: int = 0
    added: int = 0
    closed: bool = False
    passed: bool = False
    last: dict[str, Any] | None = None
    stale: list[dict[str, Any]] = field(default_factory=list)


class Windows:
    """Tumbling, sliding, session and global windows of one key."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.window, self.trigger, self.mode = spec["window"], spec["trigger"], spec["mode"]
        self.lateness = spec.get("lateness", 0)
        self.watermark: float = NEVER
        self.open: list[Pane] = []
        self.lost = 0
        self.out: list[dict[str, Any]] = []

    def batch(self, rows: Iterable[Row], watermark: float | None, clock: float) -> list[dict[str, Any]]:
        """One micro-batch; what it emits, in order within a window."""
        if watermark is not None:
            self.watermark = max(self.watermark, watermark)
        self._overtake(clock)
        for time, value, _ in rows:
            self._row(time, value)
        for pane in sorted(self.open, key=lambda pane: pane.start):
            if not pane.closed:
                self._settle(pane, clock)
            pane.added = 0
        emitted, self.out = self.out, []
        return emitted

    def _settle(self, pane: Pane, clock: float) -> None:
        """Evaluate a window once if it has new rows; without, only when a processing-time period has elapsed."""
        if pane.added:
            pane.trigger.add(pane.added, clock)
        if pane.added or self._due(pane.trigger, clock):
            self._ask(pane, "late" if pane.passed else "early", clock)

    @property
    def held(self) -> int:
        """Rows in open windows, counted once for each."""
        return sum(pane.rows for pane in self.open)

    def _overtake(self, clock: float) -> None:
        """The watermark completes windows, then ends those whose lateness is over."""
        for pane in sorted(self.open, key=lambda pane: pane.start):
            if self.watermark >= pane.end and not pane.passed:
                pane.passed = True
                self._ask(pane, "on_time", clock)
        over = [pane for pane in self.open if self._too_late(pane.end)]
        self.lost += sum(len(pane.fresh) for pane in over)
        self.open = [pane for pane in self.open if pane not in over]

    def _too_late(self, end: float) -> bool:
        return self.watermark >= end + (0 if end == END else self.lateness)

    def _row(self, time: float | None, value: Any) -> None:
        if time is None:
            self._late(value, None, "no_event_time")
            return
        session = self.window["kind"] == "session"
        bounds = [self._merge(time)] if session else list(self._bounds(time))
        alive = [b for b in bounds if time >= 0 and not self._too_late(b[1])]
        taken = [pane for pane in map(self._open_pane, alive) if not pane.closed]
        for pane in taken:
            pane.everything.append(value)
            pane.fresh.append(value)
            pane.rows += 1
            pane.added += 1
        if not taken:
            self._late(value, bounds[0], "closed" if alive else "too_late")

    def _bounds(self, time: float) -> Iterable[tuple[float, float]]:
        """The windows of a time, the last one first."""
        if self.window["kind"] == "global":
            yield (0, END)
            return
        size = self.window["size"]
        every, offset = self.window.get("every", size), self.window.get("offset", 0)
        start = (time - offset) // every * every + offset
        while start > time - size:
            yield (start, start + size)
            start -= every

    def _open_pane(self, bounds: tuple[float, float]) -> Pane:
        for pane in self.open:
            if (pane.start, pane.end) == bounds:
                return pane
        pane = Pane(*bounds, Trigger(self.trigger), passed=self.watermark >= bounds[1])
        self.open.append(pane)
        return pane

    def _merge(self, time: float) -> tuple[float, float]:
        """The bounds of the session that takes a row; sessions it joins become one."""
        end = time + self.window["gap"]
        met = [pane for pane in self.open if pane.start < end and time < pane.end and time >= 0]
        hit = sorted(met, key=lambda pane: pane.start)
        bounds = (min([time, *(p.start for p in hit)]), max([end, *(p.end for p in hit)]))
        if hit and (len(hit) > 1 or (hit[0].start, hit[0].end) != bounds):
            self.open = [pane for pane in self.open if pane not in hit] + [self._merge_panes(hit, bounds)]
        return bounds

    def _merge_panes(self, parts: list[Pane], bounds: tuple[float, float]) -> Pane:
        first, others = parts[0], parts[1:]
        closed = any(part.closed for part in parts)
        if others and not closed:
            first.trigger.merge([other.trigger for other in others])
        passed = self.watermark >= bounds[1]
        if not passed and not closed:
            first.trigger.reopen()
        return Pane(
            *bounds,
            first.trigger,
            everything=[value for part in parts for value in part.everything],
            fresh=[value for part in parts for value in part.fresh],
            rows=sum(part.rows for part in parts),
            added=sum(part.added for part in parts),
            closed=closed,
            passed=passed,
            stale=[row for part in parts for row in [*part.stale, *([part.last] if part.last else [])]],
        )

    def _due(self, trigger: Trigger, clock: float) -> bool:
        """True if a processing-time period has elapsed: only then is a window without new rows evaluated."""
        if trigger.kind == "every":
            return clock >= trigger.due
        return any(self._due(part, clock) for part in trigger._current())

    def _ask(self, pane: Pane, timing: str, clock: float) -> None:
        if pane.closed or not pane.trigger.fires(pane.passed, clock):
            return
        values = pane.fresh if self.mode == "discarding" else pane.everything
        row = {
            "window": (pane.start, pane.end, pane.number),
            "values": sorted(values),
            "index": pane.index,
            "timing": timing,
        }
        if self.mode == "retracting":
            stale = [*pane.stale, *([pane.last] if pane.last else [])]
            self.out += [{"output": "main", **old, "retraction": True} for old in stale]
            pane.stale, pane.last = [], row
        self.out.append({"output": "main", **row, "retraction": False})
        pane.index += 1
        pane.fresh = []
        pane.closed = pane.trigger.acknowledge(pane.passed, clock)

    def _late(self, value: Any, bounds: tuple[float, float] | None, reason: str) -> None:
        self.out.append({"output": "late", "value": value, "window": bounds, "reason": reason})


class OrderedWindows(Windows):
    """Count, delta, punctuation and landmark windows of one key."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__(spec)
        self.arrival = self.window.get("order") == "arrival"
        self.waiting: list[tuple[float, Any, Any]] = []
        self.taken = self.number = 0
        self.base: Any = None

    def batch(self, rows: Iterable[Row], watermark: float | None, clock: float) -> list[dict[str, Any]]:
        if watermark is not None:
            self.watermark = max(self.watermark, watermark)
        self._release(clock)
        for time, value, mark in rows:
            if time is None:
                self._late(value, None, "no_event_time")
            elif time < 0 or (not self.arrival and time < self.watermark):
                self._late(value, None, "too_late")
            elif self.arrival:
                self._take(time, value, mark, clock)
            else:
                self.waiting.append((time, value, mark))
        for pane in self.open:
            if not pane.closed:
                self._settle(pane, clock)
            pane.added = 0
        emitted, self.out = self.out, []
        return emitted

    def _release(self, clock: float) -> None:
        """Rows the watermark is past are taken in event-time order.

        At the end of the input all windows close.
        """
        ready = sorted((row for row in self.waiting if row[0] < self.watermark), key=lambda row: row[0])
        self.waiting = [row for row in self.waiting if row[0] >= self.watermark]
        for row in ready:
            self._take(*row, clock)
        if self.window.get("reset"):
            self._roll(self.watermark, clock)
        if self.watermark >= END:
            for pane in list(self.open):
                self._close(pane, clock)

    def _take(self, time: float, value: Any, mark: Any, clock: float) -> None:
        if self.window.get("reset"):
            self._take_reset(time, value, clock)
        else:
            getattr(self, f"_take_{self.window['kind']}")(time, value, mark, clock)

    def _take_count(self, time: float, value: Any, _: Any, clock: float) -> None:
        size = self.window["size"]
        every = self.window.get("every", size)
        if self.taken % every == 0:
            self._begin(time, self.taken // every)
        self._place(time, value)
        for pane in [p for p in self.open if p.number * every + size - 1 == self.taken]:
            self._close(pane, clock)
        self.taken += 1

    def _take_delta(self, time: float, value: Any, number: float | None, clock: float) -> None:
        known = number is not None and self.base is not None
        if self.open and known and abs(number - self.base) > self.window["by"]:
            self._close(self.open[0], clock)
        if not self.open:
            self.base = None
            self._begin(time, self.number)
            self.number += 1
        if self.base is None:
            self.base = number
        self._place(time, value)

    def _take_punctuation(self, time: float, value: Any, closes: bool | None, clock: float) -> None:
        if not self.open:
            self._begin(time, self.number)
            self.number += 1
        self._place(time, value)
        if closes:
            self._close(self.open[0], clock)

    def _take_landmark(self, time: float, value: Any, opens: bool | None, clock: float) -> None:
        if opens:
            self.number += 1
            for pane in list(self.open):
                self._close(pane, clock)
        if not self.open:
            self._begin(time, self.number)
        self._place(time, value)

    def _take_reset(self, time: float, value: Any, clock: float) -> None:
        self._roll(time, clock)
        reset, step = self.window["reset"], self.window["step"]
        if not self.open:
            pane = self._begin(time, self.number)
            self.number += 1
            pane.start = time // reset * reset
            pane.end = pane.start + ((time - pane.start) // step + 1) * step
        bounds = self.open[0].start, self.open[0].end
        self._place(time, value)
        self.open[0].start, self.open[0].end = bounds

    def _roll(self, time: float, clock: float) -> None:
        """Fires the steps that end at or before a time.

        Each is a window that goes on with what the last one had.
        """
        while self.open and self.open[0].end <= time:
            pane = self.open[0]
            if pane.end == pane.start + self.window["reset"]:
                self._close(pane, clock)
                return
            self._pass(pane, clock)
            pane.trigger, pane.number, pane.index = Trigger(self.trigger), self.number, 0
            pane.passed, pane.closed, pane.last = False, False, None
            pane.end += self.window["step"]
            self.number += 1

    def _begin(self, time: float, number: int) -> Pane:
        pane = Pane(time, time, Trigger(self.trigger), number=number)
        self.open.append(pane)
        return pane

    def _place(self, time: float, value: Any) -> None:
        takers = [pane for pane in self.open if not pane.closed]
        for pane in takers:
            pane.start, pane.end = min(pane.start, time), max(pane.end, time)
            pane.everything.append(value)
            pane.fresh.append(value)
            pane.rows += 1
            pane.added += 1
        if self.open and not takers:
            self._late(value, (self.open[-1].start, self.open[-1].end), "closed")

    def _pass(self, pane: Pane, clock: float) -> None:
        if pane.added and not pane.closed:
            pane.trigger.add(pane.added, clock)
        pane.added, pane.passed = 0, True
        self._ask(pane, "on_time", clock)

    def _close(self, pane: Pane, clock: float) -> None:
        self._pass(pane, clock)
        self.lost += len(pane.fresh)
        self.open.remove(pane)


class TrailingWindows:
    """One result per row over the rows of `(t - size, t]`; the row comes along."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.size, self.lateness = spec["window"]["size"], spec.get("lateness", 0)
        self.retracting = spec["mode"] == "retracting"
        self.watermark: float = NEVER
        self.rows: list[dict[str, Any]] = []
        self.out: list[dict[str, Any]] = []
        self.lost = 0

    @property
    def held(self) -> int:
        """Rows kept because a later one may look back at them."""
        past = self.watermark - self.lateness - self.size
        return sum(row["time"] > past for row in self.rows)

    def batch(self, rows: Iterable[Row], watermark: float | None, clock: float) -> list[dict[str, Any]]:
        if watermark is not None:
            self.watermark = max(self.watermark, watermark)
        self._emit()
        for time, value, _ in rows:
            self._row(time, value)
        self._emit()
        emitted, self.out = self.out, []
        return emitted

    def _row(self, time: float | None, value: Any) -> None:
        if time is None:
            self.out.append({"output": "late", "value": value, "window": None, "reason": "no_event_time"})
        elif time < 0 or time + self.lateness < self.watermark:
            window = (time - self.size, time)
            self.out.append({"output": "late", "value": value, "window": window, "reason": "too_late"})
        else:
            self.rows.append({"time": time, "value": value, "index": 0, "last": None, "again": False})
            for row in self.rows:
                late = time < self.watermark
                row["again"] |= late and row["index"] > 0 and time <= row["time"] < time + self.size

    def _emit(self) -> None:
        for row in sorted(self.rows, key=lambda row: row["time"]):
            if row["again"] or (row["index"] == 0 and row["time"] < self.watermark):
                self._show(row)

    def _show(self, row: dict[str, Any]) -> None:
        time = row["time"]
        seen = sorted(other["value"] for other in self.rows if time - self.size < other["time"] <= time)
        pane = {
            "window": (time - self.size, time, 0),
            "values": seen,
            "index": row["index"],
            "timing": "on_time",
            "value": row["value"],
        }
        if self.retracting and row["last"]:
            self.out.append({"output": "main", **row["last"], "retraction": True})
        self.out.append({"output": "main", **pane, "retraction": False})
        row.update(index=row["index"] + 1, last=pane, again=False)


class Expiring:
    """Windows of a key that is forgotten when the watermark is `ttl` past its last row.

    What it completes fires before.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.ttl = spec["ttl"]
        self.spec = {name: value for name, value in spec.items() if name != "ttl"}
        self.inner = model(self.spec)
        self.touched: float = NEVER
        self.lost_before = self.forgotten = 0

    @property
    def lost(self) -> int:
        return int(self.lost_before + self.inner.lost)

    @property
    def held(self) -> int:
        return int(self.inner.held)

    def batch(self, rows: Iterable[Row], watermark: float | None, clock: float) -> list[dict[str, Any]]:
        received, out = list(rows), []
        mark = max(self.inner.watermark, NEVER if watermark is None else watermark)
        if self.touched > NEVER and self.touched + self.ttl <= mark < END:
            out = self.inner.batch([], watermark, clock)
            self._forget()
            self.inner.watermark = mark
        if received:
            self.touched = max([self.touched, mark, *(time for time, _, _ in received if time is not None)])
        return [*out, *self.inner.batch(received, watermark, clock)]

    def _forget(self) -> None:
        self.forgotten += sum(len(pane.fresh) for pane in self.inner.open)
        self.lost_before += self.inner.lost
        self.inner, self.touched = model(self.spec), NEVER


def model(spec: dict[str, Any]) -> Any:
    """The model of a declaration."""
    if spec.get("ttl"):
        return Expiring(spec)
    kind = spec["window"]["kind"]
    if kind == "trailing":
        return TrailingWindows(spec)
    return Windows(spec) if kind in ("tumbling", "sliding", "session", "global") else OrderedWindows(spec)
