"""Runs the receiver of a source without Spark, in this process or in one that can be killed.

It stores every message in the log of a directory and never releases one, so that a test can count them.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from headrace.connectors.base import ReadContext
from headrace.connectors.registry import connector
from headrace.connectors.write_ahead_log.groups import decode_header, intact_groups
from headrace.connectors.write_ahead_log.log import LogSettings, WriteAheadLog
from headrace.connectors.write_ahead_log.options import LoggedSource
from headrace.connectors.write_ahead_log.records import Record, decode
from headrace.connectors.write_ahead_log.segments import segment_paths
from tests.support.processes import report_ready, start_process

TIMEOUT = 300.0


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
        while process.is_alive():
            acknowledged |= {number for number in (next(numbers),) if send(number)}
        timer.join()
    process = start(kind, options, place)
    acknowledged |= {number for number in (next(numbers),) if send(number)}
    deadline = time.monotonic() + TIMEOUT
    while not acknowledged <= set(stored(place)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.join()
    return sorted(stored(place)), acknowledged


def start(kind: str, options: dict[str, Any], place: Path) -> BaseProcess:
    """Start a receiver and wait until it receives."""
    return start_process(_receive, kind, options, str(place))


def stored(place: Path) -> list[int]:
    """Return the numbers in the log, which another process may be writing."""
    return [json.loads(record.value)["id"] for record in stored_records(place / "log")]


def stored_records(directory: Path) -> list[Record]:
    """Return the intact records in the files of a log, which another process may be writing."""
    result = list[Record]()
    for path in segment_paths(directory):
        content = path.read_bytes()
        header = decode_header(content)
        for group in intact_groups(content, header[0]) if header else ():
            result += decode(content[group.begins : group.ends])
    return result


def _receive(sender: Connection, kind: str, options: dict[str, Any], place: str) -> None:
    source = connector(kind)(**options)
    assert isinstance(source, LoggedSource)
    log = WriteAheadLog(Path(place) / "log")
    source.receiver(ReadContext("kills", "rows", None, None, place)).start(log)
    report_ready(sender)
    threading.Event().wait()
