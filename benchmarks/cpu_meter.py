"""CPU time of a process and everything below it, the processes that have ended meanwhile as well."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Self


class CpuMeter:
    """Looks at the processes twice a second.

    Spark's Python workers end as they please, and nobody adds up their time.

    Without `/proc` it counts nothing.
    """

    PERIOD = 0.5

    def __init__(self) -> None:
        self._ticks: dict[tuple[int, int], int] = {}
        """CPU time by process: its number and when it began."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="cpu meter", daemon=True)

    def seconds(self) -> float:
        """CPU seconds so far."""
        self._look()
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
            self._look()

    def _look(self) -> None:
        stats = _stats()
        below, measured = {os.getpid()}, 0
        while len(below) > measured:
            measured = len(below)
            below |= {pid for pid, (parent, _, _) in stats.items() if parent in below}
        with self._lock:
            for pid in below & stats.keys():
                _, begun, ticks = stats[pid]
                self._ticks[pid, begun] = ticks


def _stats() -> dict[int, tuple[int, int, int]]:
    """Of each process its parent, when it began, and its CPU time."""
    measured = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            words = file.read_text().rpartition(")")[2].split()
            measured[int(file.parent.name)] = int(words[1]), int(words[19]), int(words[11]) + int(words[12])
    return measured
