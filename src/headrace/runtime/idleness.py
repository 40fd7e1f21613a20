"""Heartbeats of idle sources, and of sources whose time is the clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.runtime.threads import start_thread
from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from headrace.lowering.watermarks import Heartbeats
    from headrace.plan.graph import Graph
    from headrace.runtime.progress.log import ProgressLog

PERIOD = 0.5


class IdlenessTicker:
    """Advances watermarks with the clock, twice a second while the run lasts, if a step needs it."""

    def __init__(
        self,
        graph: Graph,
        heartbeats: Heartbeats,
        progress: ProgressLog,
        *,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._heartbeats = heartbeats
        self._progress = progress
        self._on_failure = on_failure
        self._idle = [node for node in graph.of(EventTime) if node.idle is not None]
        self._clocks = graph.of(ClockTime)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start the thread, if a step needs it."""
        if self._idle or self._clocks:
            start_thread("idleness", self._tick, on_failure=self._on_failure)

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()

    def _tick(self) -> None:
        while not self._stopped.wait(PERIOD):
            now = time.time()
            for clock in self._clocks:
                self._advance(clock.name, int(now * 1000))
            for node in self._idle:
                self._advance_idle(node, now)

    def _advance_idle(self, node: EventTime, now: float) -> None:
        """Advance to highest event time + time since the last row - out_of_order, which keeps replayed rows on time."""
        highest, last_row_at = self._progress.event_time()
        if highest is None or (now - last_row_at) * 1_000_000 < (node.idle or 0):
            return
        self._advance(node.name, int(highest * 1000 + (now - last_row_at) * 1000) - node.out_of_order // 1000)

    def _advance(self, step: str, watermark_ms: int) -> None:
        if step in self._heartbeats.steps:
            self._heartbeats.advance(step, watermark_ms)
