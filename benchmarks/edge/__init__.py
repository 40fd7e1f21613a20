"""Sources that acknowledge messages: throughput beside plain scripts, and resources while a job is paused.

    python -m benchmarks edge --messages 200000 --rows 400000 --runs 5 --pause 60
    python -m benchmarks edge --case mqtt --messages 20000 --runs 3

Cases: `mqtt`, `http` and `pause`; see the modules of this package. In all of them a message or request is
acknowledged after the fsync that covers it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.edge.http import measure_http
from benchmarks.edge.mqtt import measure_mqtt
from benchmarks.edge.pause import measure_pause

CASES = ("mqtt", "http", "pause")


def main() -> None:
    """Measure all cases, or the named one."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--case", choices=CASES, help="default: all")
    parser.add_argument("--messages", type=int, default=50_000, help="MQTT messages per run")
    parser.add_argument("--rows", type=int, default=100_000, help="rows over HTTP per run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pause", type=float, default=60, help="seconds for which the job is paused")
    options = parser.parse_args()
    cases: dict[str, Callable[[Path], object]] = {
        "mqtt": lambda directory: measure_mqtt(directory, options.messages, options.runs),
        "http": lambda directory: measure_http(directory, options.rows, options.runs),
        "pause": lambda directory: measure_pause(directory, options.pause),
    }
    with tempfile.TemporaryDirectory(prefix="headrace-edge-") as directory:
        for name in [options.case] if options.case else CASES:
            cases[name](Path(directory))
