"""Runs the receiver of a source in a process of its own, without Spark, so that it can be killed.

    python receiving.py KIND OPTIONS DIRECTORY

It stores every message in the log of the directory and never releases one, so that a test can count them.
"""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.connectors.base import ReadContext
from headrace.connectors.registry import connector
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.connectors.write_ahead_log.options import LoggedSource
from headrace.connectors.write_ahead_log.records import Record, decode

PATIENCE = 300.0


@contextmanager
def receiving(
    source: LoggedSource, place: Path, settings: LogSettings | None = None, *, name: str = "tx"
) -> Iterator[WriteAheadLog]:
    """Run the receiver of a source inside the block, in this process, with the log of a directory."""
    receiver = source.receiver(ReadContext("p", name, None, None, str(place)))
    log = WriteAheadLog(place / "log", settings)
    receiver.start(log)
    try:
        yield log
    finally:
        receiver.stop()
        log.close()


def records(log: WriteAheadLog) -> list[Record]:
    """Return the durable records of a log."""
    return [record for _, part in log.read(log.first, log.end) for record in decode(part)]


def kill_receivers(
    kind: str, options: dict[str, Any], place: Path, kills: int, send: Callable[[int], bool]
) -> tuple[list[int], set[int]]:
    """Send numbers while receivers are killed; return the stored numbers, sorted, and the acknowledged ones.

    `send` returns True if the number is with the broker or stored. A receiver dies at a random moment.
    """
    acknowledged: set[int] = set()
    numbers, chance = itertools.count(), random.Random(7)
    for _ in range(kills):
        process = start(kind, options, place)
        timer = threading.Timer(chance.uniform(0.05, 0.6), process.kill)
        timer.start()
        while process.poll() is None:
            acknowledged |= {number for number in (next(numbers),) if send(number)}
        timer.join()
        process.stdout.close()
    process = start(kind, options, place)
    acknowledged |= {number for number in (next(numbers),) if send(number)}
    deadline = time.monotonic() + PATIENCE
    while not acknowledged <= set(stored(place)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.wait()
    process.stdout.close()
    return sorted(stored(place)), acknowledged


def start(kind: str, options: dict[str, Any], place: Path) -> Any:
    """Start a receiver and wait until it receives."""
    words = [sys.executable, __file__, kind, json.dumps(options), str(place)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"receiving\n"
    return process


def stored(place: Path) -> list[int]:
    """Return the numbers in the log, which another process may be writing."""
    numbers: list[int] = []
    for file in sorted((place / "log").glob("*.log")):
        content = file.read_bytes()
        try:
            numbers += [json.loads(record.value)["id"] for record in decode(content)]
        except (ValueError, IndexError):  # the last record is being written
            continue
    return numbers


def _main(kind: str, options: str, place: str) -> None:
    source = connector(kind)(**json.loads(options))
    assert isinstance(source, LoggedSource)
    log = WriteAheadLog(Path(place) / "log")
    source.receiver(ReadContext("kills", "rows", None, None, place)).start(log)
    sys.stdout.write("receiving\n")
    sys.stdout.flush()
    while True:
        time.sleep(60)


if __name__ == "__main__":
    _main(*sys.argv[1:])
