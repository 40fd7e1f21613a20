"""Advance watermarks of idle sources with the clock; warn about event times far ahead of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.runtime.threads import start_thread
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from headrace.lowering.watermarks import Heartbeats
    from headrace.plan.graph import Graph

PERIOD = 0.5
AHEAD_MS = 86_400_000
"""An event time more than a day ahead of the clock is probably wrong."""


def clock_warnings(heartbeats: Heartbeats) -> Iterator[str]:
    """Yield a warning for each step whose watermark follows an event time far ahead of the clock."""
    for step, partition, millis in heartbeats.ahead_of_clock(AHEAD_MS):
        at = datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        source = f" of `{partition}`" if partition else ""
        yield (
            f"`{step}`: the record{source} with event time {at} is more than a day ahead of the clock; "
            'rows before it become late. Divert such records with max_ahead="1 day"'
        )


class IdlenessTicker:
    """A thread that advances watermarks with the clock, twice a second, if a step needs it."""

    def __init__(
        self, graph: Graph, heartbeats: Heartbeats, *, on_failure: Callable[[BaseException], None]
    ) -> None:
        self._heartbeats = heartbeats
        self._on_failure = on_failure
        self._event_times = bool(graph.of(EventTime))
        self._clocks = graph.of(ClockTime)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start the thread, if a step needs it."""
        if self._event_times or self._clocks:
            start_thread("idleness", self._tick, on_failure=self._fail)

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()

    def _fail(self, error: BaseException) -> None:
        if not self._stopped.is_set():  # the end of a run closes the heartbeats under a tick
            self._on_failure(error)

    def _tick(self) -> None:
        while not self._stopped.wait(PERIOD):
            now = time.time()
            for clock in self._clocks:
                self._advance(clock.name, int(now * 1000))
            if self._event_times:
                self._heartbeats.tick()

    def _advance(self, step: str, watermark_ms: int) -> None:
        if step in self._heartbeats.steps:
            self._heartbeats.advance(step, watermark_ms)
