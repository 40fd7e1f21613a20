"""Runs the writer of a message sink in a process of its own, without Spark, so that it can be killed.

It delivers epochs of ten numbers, from the one after the last that was recorded, and ends after the last.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.connectors.base import StagedRows, WriteContext
from headrace.connectors.durable_files import read_json
from headrace.connectors.message_sink import MessageWriter
from headrace.connectors.registry import connector
from tests.support.processes import report_ready, start_process

ROWS = 10
ENDLESS = 1_000_000
Row = tuple[Any, ...]


def kill_senders(
    kind: str, options: dict[str, Any], place: Path, kills: int, disturb: Callable[[], None] | None = None
) -> set[int]:
    """Kill senders at random moments; then complete an epoch, and return the numbers that must have arrived.

    `disturb`, if set, is called in the middle of each sender's life, for instance to restart the server.
    """
    chance = random.Random(7)
    for _ in range(kills):
        process = start(kind, options, place, ENDLESS)
        if disturb is not None:
            disturb()
        threading.Timer(chance.uniform(0.01, 0.3), process.kill).start()
        process.join()
    done = recorded(place) + 2
    process = start(kind, options, place, done)
    process.join()
    assert process.exitcode == 0
    return set(range(done * ROWS))


def start(kind: str, options: dict[str, Any], place: Path, epochs: int) -> BaseProcess:
    """Start a sender and wait until it is connected."""
    return start_process(_send, kind, options, str(place), epochs)


def recorded(place: Path) -> int:
    """Return the epoch last recorded, or -1."""
    path = place / "published.json"
    return int(read_json(path, {"epoch": -1})["epoch"])


def _row(kind: str, options: dict[str, Any], number: int) -> Row:
    body = json.dumps({"id": number}).encode()
    if kind == "smtp":
        return (options["to"], "row", str(number))
    if kind == "webhook":
        return ([], body)
    return (options.get("topic") or options.get("routing_key"), body, [])


def _send(sender: Connection, kind: str, options: dict[str, Any], place: str, epochs: int) -> None:
    writer = connector(kind)(**options).writer()
    assert isinstance(writer, MessageWriter)
    first = writer.open(WriteContext("kills", "out", "c", "append", place)) + 1
    report_ready(sender)
    for epoch in range(first, epochs):
        rows = [_row(kind, options, epoch * ROWS + number) for number in range(ROWS)]
        columns = [list(column) for column in zip(*rows, strict=True)]
        text = pa.list_(pa.string())
        arrays = [pa.array(c, text) if isinstance(c[0], list) else pa.array(c) for c in columns]
        table = pa.table(arrays, [str(n) for n in range(len(arrays))])
        writer.commit(epoch, StagedRows(table.num_rows, table))
    writer.close()
