"""CPU time of this process and its descendants, including those that have ended."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Self


class CpuMeter:
    """Samples the processes twice a second, because Spark's Python workers may end at any time.

    Without `/proc` the result is zero.
    """

    PERIOD = 0.5

    def __init__(self) -> None:
        self._ticks: dict[tuple[int, int], int] = {}
        """CPU ticks by process id and start time."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cpu meter", daemon=True)

    def seconds(self) -> float:
        """Return the CPU seconds so far."""
        self._sample()
        with self._lock:
            return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(self.PERIOD):
            self._sample()

    def _sample(self) -> None:
        stats = _stats()
        below, measured = {os.getpid()}, 0
        while len(below) > measured:
            measured = len(below)
            below |= {pid for pid, (parent, _, _) in stats.items() if parent in below}
        with self._lock:
            for pid in below & stats.keys():
                _, start, ticks = stats[pid]
                self._ticks[pid, start] = ticks


def _stats() -> dict[int, tuple[int, int, int]]:
    """Return parent, start time and CPU ticks by process id."""
    measured = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has just ended
            words = file.read_text().rpartition(")")[2].split()
            measured[int(file.parent.name)] = int(words[1]), int(words[19]), int(words[11]) + int(words[12])
    return measured
