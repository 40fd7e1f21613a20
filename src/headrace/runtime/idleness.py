"""The pulse of a run: heartbeats for sources that are idle, and for those whose time is the clock."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from headrace.steps.rows.event_time import ClockTime, EventTime

if TYPE_CHECKING:
    from headrace.lowering.watermarks import Heartbeats
    from headrace.plan.graph import Graph
    from headrace.runtime.progress import ProgressLog

PERIOD = 0.5


class Pulse:
    """Beats about twice a second, while the run lasts, if any step needs it."""

    def __init__(self, graph: Graph, heartbeats: Heartbeats, progress: ProgressLog) -> None:
        self._heartbeats = heartbeats
        self._progress = progress
        self._idle = [node for node in graph.of(EventTime) if node.idle is not None]
        self._clocks = graph.of(ClockTime)
        self._over = threading.Event()

    def start(self) -> None:
        """Begin, if there is anything to beat for."""
        if self._idle or self._clocks:
            threading.Thread(target=self._beat, name="headrace pulse", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(PERIOD):
            now = time.time()
            for clock in self._clocks:
                self._tell(clock.name, int(now * 1000))
            for node in self._idle:
                self._tell_idle(node, now)

    def _tell_idle(self, node: EventTime, now: float) -> None:
        """Highest event time + time since the last row - out_of_order: a replay of old data is not ruined."""
        highest, seen_at = self._progress.event_time()
        if highest is None or (now - seen_at) * 1_000_000 < (node.idle or 0):
            return
        self._tell(node.name, int(highest * 1000 + (now - seen_at) * 1000) - node.out_of_order // 1000)

    def _tell(self, step: str, watermark_ms: int) -> None:
        if step in self._heartbeats.steps:
            self._heartbeats.beat(step, watermark_ms)
