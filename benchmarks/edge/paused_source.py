"""The process of a paused source: `python -m benchmarks.edge.paused_source URL DIRECTORY OVERFLOW LIMIT`.

It receives until its standard input ends, and then prints the figures that `benchmarks.edge.pause` reports.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.connectors.mqtt.receiver import MqttReceiver
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog

_SAMPLE_SECONDS = 0.1


def run_source(url: str, directory: Path, overflow: Any, limit: int) -> None:
    """Receive messages that no query reads, until standard input ends; print the figures."""
    log = WriteAheadLog(directory / "log", LogSettings(limit=limit, overflow=overflow))
    source = connect.mqtt(url=url, topics=["bench/#"], client_id="paused")
    receiver = MqttReceiver(source, ReadContext("bench", "rows", None, None, str(directory)))
    receiver.start(log)
    ended = threading.Event()
    threading.Thread(target=_await_end, args=(ended,), daemon=True).start()
    print("ready", flush=True)
    samples = [_sample(directory)]
    while not ended.wait(_SAMPLE_SECONDS):
        samples.append(_sample(directory))
    counters = log.counters
    print(json.dumps({"samples": samples, "received": counters.received, "dropped": counters.dropped}))
    log.close()
    receiver.stop()


def _await_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _sample(directory: Path) -> tuple[int, int]:
    """Return the bytes of the log on disk and the resident memory of this process."""
    disk = 0
    for file in (directory / "log").glob("*.log"):
        with suppress(FileNotFoundError):  # the log removes old files
            disk += file.stat().st_size
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return disk, pages * os.sysconf("SC_PAGESIZE")


if __name__ == "__main__":
    run_source(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
