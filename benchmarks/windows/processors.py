"""Order-dependent windows and sessions for `transformWithStateInPandas`.

They are optimised: the rows of a key are NumPy arrays, a window is folded by slices, the state of a key is one
value (a call to Spark's state costs more than the rest), and buffered rows are one array of bytes. A timer is
set only if none is due earlier.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

Rows = NDArray[np.void]
ROW = np.dtype([("ts", "i8"), ("id", "i8"), ("value", "f8"), ("end", "?")])
OPEN = "total_rows bigint, n bigint, total double, first bigint, last bigint, base double"
EMPTY = (0, 0.0, 2**62, -(2**62), 0.0)
OUTPUT = "key string, start bigint, end bigint, n bigint, total double"
NEVER = 2**62


def rows_of(frames: Iterator[pd.DataFrame]) -> Rows:
    """Return the rows of a key in a batch as one array."""
    parts = list(frames)
    frame = parts[0] if len(parts) == 1 else pd.concat(parts)
    rows = np.empty(len(frame), ROW)
    rows["ts"] = frame["ts"].to_numpy().astype("datetime64[us]").astype("i8")
    rows["id"] = frame["id"].to_numpy()
    rows["value"] = frame["value"].to_numpy()
    rows["end"] = frame["kind"].to_numpy() == "end"
    return rows


def to_frames(key: str, windows: list[tuple[int, int, int, float]]) -> Iterator[pd.DataFrame]:
    """Yield closed windows as a frame."""
    if windows:
        starts, ends, counts, totals = zip(*windows, strict=True)
        yield pd.DataFrame({"key": key, "start": starts, "end": ends, "n": counts, "total": totals})


class RowsOrTimers(StatefulProcessor):
    """Calls `_process` for input rows and, without rows, for timers."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        yield from self._process(key, rows_of(rows), timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        yield from self._process(key, np.empty(0, ROW), timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        pass

    def _process(self, key: Any, rows: Rows, watermark: int) -> Iterator[pd.DataFrame]:
        raise NotImplementedError


class Ordered(RowsOrTimers):
    """Windows that depend on the order of rows; in event-time order rows are buffered until the watermark."""

    def __init__(self, *, in_event_time: bool) -> None:
        self._waits = in_event_time

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", f"{OPEN}, wake bigint, waiting binary")

    @abstractmethod
    def splits(self, total_rows: int, window: tuple[Any, ...], rows: Rows) -> list[int]:
        """Return the indexes of the rows before which a window ends."""

    def _process(self, key: Any, rows: Rows, watermark: int) -> Iterator[pd.DataFrame]:
        stored = self._state.get() or (0, *EMPTY, NEVER, b"")
        total_rows, window, wake, waiting = stored[0], stored[1:6], stored[6], stored[7]
        if self._waits:
            held = np.concatenate([np.frombuffer(bytes(waiting), ROW), rows])
            ready = held["ts"] < watermark * 1000
            rows, rest = np.sort(held[ready], order=["ts", "id"]), held[~ready]
            waiting, wake = rest.tobytes(), self._next_timer(rest, wake, watermark)
        else:
            rows = np.sort(rows, order="id")
        closed, window = self._fold(total_rows, window, rows)
        self._state.update((total_rows + len(rows), *window, wake, waiting))
        yield from to_frames(key[0], closed)

    def _next_timer(self, rest: Rows, wake: int, watermark: int) -> int:
        wake = NEVER if wake <= watermark else wake
        if len(rest) and (wanted := int(rest["ts"].min()) // 1000 + 1) < wake:
            self._handle.registerTimer(wanted)
            return wanted
        return wake

    def _fold(
        self, total_rows: int, window: tuple[Any, ...], rows: Rows
    ) -> tuple[list[Any], tuple[Any, ...]]:
        closed, edges = [], [0, *self.splits(total_rows, window, rows), len(rows)]
        for number, (begin, end) in enumerate(pairwise(edges)):
            window = _with(window, rows[begin:end])
            if number < len(edges) - 2:
                n, total, first, last, _ = window
                closed.append((first, last, n, total))
                window = EMPTY
        return closed, window


def _with(window: tuple[Any, ...], rows: Rows) -> tuple[Any, ...]:
    if not len(rows):
        return window
    n, total, first, last, base = window
    times, values = rows["ts"], rows["value"]
    return (
        n + len(rows),
        total + float(values.sum()),
        min(first, int(times.min())),
        max(last, int(times.max())),
        base if n else float(values[0]),
    )


class Count(Ordered):
    """Windows of `SIZE` rows."""

    SIZE = 100

    def splits(self, total_rows: int, window: tuple[Any, ...], rows: Rows) -> list[int]:
        first = self.SIZE - total_rows % self.SIZE
        return list(range(first, len(rows) + 1, self.SIZE))


class Delta(Ordered):
    """Windows that end at a value further than `BY` from their first."""

    BY = 20.0

    def splits(self, total_rows: int, window: tuple[Any, ...], rows: Rows) -> list[int]:
        if not len(rows):
            return []
        values, at = rows["value"], 0
        indexes: list[Any] = []
        base = window[4] if window[0] else values[0]
        while True:
            far = np.abs(values[at:] - base) > self.BY
            step = int(far.argmax())
            if not far[step]:
                return indexes
            at += step
            base = values[at]
            indexes.append(at)


class Punctuation(Ordered):
    """Windows that end with a marked row."""

    def splits(self, total_rows: int, window: tuple[Any, ...], rows: Rows) -> list[int]:
        return (np.flatnonzero(rows["end"]) + 1).tolist()


class Sessions(RowsOrTimers):
    """Sessions with an early pane every `EARLY` rows and a final pane at the watermark."""

    GAP = 54_000_000
    EARLY = 10
    SESSION = np.dtype([("start", "i8"), ("end", "i8"), ("n", "i8"), ("total", "f8"), ("fresh", "i8")])

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "wake bigint, sessions binary")

    def _process(self, key: Any, rows: Rows, watermark: int) -> Iterator[pd.DataFrame]:
        wake, stored = self._state.get() or (NEVER, b"")
        open_ = [list(session) for session in np.frombuffer(bytes(stored), self.SESSION).tolist()]
        closed = [session for session in open_ if session[1] <= watermark * 1000]
        kept = self._merge([session for session in open_ if session[1] > watermark * 1000], rows)
        panes = [tuple(session[:4]) for session in closed]
        for session in kept:
            if session[4] >= self.EARLY:
                panes.append(tuple(session[:4]))
                session[4] = 0
        wake = NEVER if wake <= watermark else wake
        if kept and (wanted := -(-kept[0][1] // 1000)) < wake:
            wake = wanted
            self._handle.registerTimer(wanted)
        self._state.update((wake, np.array([tuple(s) for s in kept], self.SESSION).tobytes()))
        yield from to_frames(key[0], panes)

    def _merge(self, sessions: list[list[Any]], rows: Rows) -> list[list[Any]]:
        rows = np.sort(rows, order=["ts", "id"])
        edges = [0, *(np.flatnonzero(np.diff(rows["ts"]) >= self.GAP) + 1).tolist(), len(rows)]
        for begin, end in pairwise(edges):
            part = rows[begin:end]
            if len(part):
                start, last = int(part["ts"][0]), int(part["ts"][-1])
                sessions.append([start, last + self.GAP, len(part), float(part["value"].sum()), len(part)])
        sessions.sort()
        merged: list[list[Any]] = []
        for session in sessions:
            if merged and session[0] < merged[-1][1]:
                before = merged[-1]
                before[1] = max(before[1], session[1])
                for at in (2, 3, 4):
                    before[at] += session[at]
            else:
                merged.append(session)
        return merged


class Trailing(RowsOrTimers):
    """An aggregate per row over the preceding `SIZE` microseconds, in event-time order."""

    SIZE = 600_000_000

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "done bigint, wake bigint, rows binary")

    def _process(self, key: Any, rows: Rows, watermark: int) -> Iterator[pd.DataFrame]:
        done, wake, stored = self._state.get() or (0, NEVER, b"")
        rows = np.sort(np.concatenate([np.frombuffer(bytes(stored), ROW), rows]), order=["ts", "id"])
        times, now = rows["ts"], watermark * 1000
        ready = times[(times >= done) & (times < now)]
        kept = rows[times > now - self.SIZE]
        wake = NEVER if wake <= watermark else wake
        waiting = times[times >= now]
        if len(waiting) and (wanted := int(waiting[0]) // 1000 + 1) < wake:
            wake = wanted
            self._handle.registerTimer(wanted)
        self._state.update((max(done, now), wake, kept.tobytes()))
        if len(ready):
            yield self._to_frame(key[0], ready, times, rows["value"])

    def _to_frame(self, key: str, ready: Any, times: Any, values: Any) -> pd.DataFrame:
        sums = np.concatenate([[0.0], np.cumsum(values)])
        first = np.searchsorted(times, ready - self.SIZE, side="right")
        last = np.searchsorted(times, ready, side="right")
        return pd.DataFrame(
            {
                "key": key,
                "start": ready - self.SIZE,
                "end": ready,
                "n": last - first,
                "total": sums[last] - sums[first],
            }
        )
