"""The pipelines whose checkpoints are damaged; a kind has a source, and states from which a run continues."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Protocol

from headrace import Pipeline, Stream, connect, windows
from headrace.connectors import failpoints
from headrace.connectors.write_ahead_log import Message
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.devtools.ports import free_ports
from headrace.errors import HeadraceError

CARDS = 5
SCHEMA = "card string, amount int, ts bigint"
ROWS = 12
"""Rows per file, or per message batch."""


class Kind(Protocol):
    """A pipeline, and its input in three parts: before the damage, in the run that ended, and after it."""

    name: str

    def feed(self, work: Path, part: int) -> None:
        """Make a part of the input available."""
        ...

    def build(self, work: Path) -> Pipeline: ...

    def results(self, work: Path) -> dict[str, list[str]]:
        """Return all rows that the sinks have, sorted, by sink."""
        ...


class FilesKind:
    """Files -> window -> running aggregate behind an exchange, lookup in a table that is reloaded, side outputs."""

    name = "files"

    def feed(self, work: Path, part: int) -> None:
        (work / "in").mkdir(parents=True, exist_ok=True)
        (work / "homes.csv").write_text("card,home\n" + "".join(f"c{n},city{n}\n" for n in range(CARDS)))
        for number in (2 * part, 2 * part + 1):
            file = work / "in" / f"{number:03d}.json"
            file.write_text("\n".join([*lines_of(number), f"broken {number}"]) + "\n")
            os.utime(file, (1_600_000_000 + number,) * 2)  # Spark reads files in the order of their times

    def build(self, work: Path) -> Pipeline:
        pipeline = Pipeline("payments")
        source = connect.files(path=str(work / "in"), max_files_per_batch=1)
        tx = pipeline.read("tx", source, format="json", schema=SCHEMA)
        homes = connect.files(path=str(work / "homes.csv"))
        schema = "card string, home string"
        known = tx.lookup("home", homes, on="card", format="csv", schema=schema, refresh="1 second")
        known.write("lines", connect.files(path=str(work / "lines"), format="json"))
        add_steps(tx, work)
        return pipeline

    def results(self, work: Path) -> dict[str, list[str]]:
        return results(work)


class KafkaKind:
    """Kafka -> window -> running aggregate behind an exchange; a topic for each directory that is prepared."""

    name = "kafka"

    def __init__(self, servers: str) -> None:
        self._servers, self._client = servers, Client(servers)
        self._fed: set[tuple[str, int]] = set()

    def feed(self, work: Path, part: int) -> None:
        topic = self._topic(work)
        if (topic, 0) not in self._fed and part == 0:
            self._client.create(topic, partitions=1)
        if (topic, part) not in self._fed:  # a topic keeps its records, unlike a directory that is restored
            lines = [line for number in (2 * part, 2 * part + 1) for line in lines_of(number)]
            self._client.produce(topic, [(None, line) for line in lines])
        self._fed.add((topic, part))

    def build(self, work: Path) -> Pipeline:
        pipeline = Pipeline("payments")
        source = connect.kafka(servers=self._servers, topic=self._topic(work), max_per_batch=ROWS)
        tx = pipeline.read("tx", source, format="json", schema=SCHEMA)
        add_steps(tx, work)
        return pipeline

    def results(self, work: Path) -> dict[str, list[str]]:
        return results(work)

    def _topic(self, work: Path) -> str:
        return f"damage-{(work / 'state').read_text()}"


class LogKind:
    """A source with a write-ahead log -> window -> running aggregate behind an exchange."""

    name = "log"

    def __init__(self) -> None:
        self._listen = f"127.0.0.1:{free_ports(1)[0]}"

    def feed(self, work: Path, part: int) -> None:
        log = WriteAheadLog(work / "checkpoint" / "sources" / "tx" / "log")
        for number in (2 * part, 2 * part + 1):
            log.append([Message(line.encode()) for line in lines_of(number)])
        log.close()

    def build(self, work: Path) -> Pipeline:
        pipeline = Pipeline("payments")
        source = connect.http(listen=self._listen, max_per_batch=ROWS)
        tx = pipeline.read("tx", source, format="json", schema=SCHEMA)
        add_steps(tx, work)
        return pipeline

    def results(self, work: Path) -> dict[str, list[str]]:
        return results(work)


def lines_of(number: int) -> list[str]:
    """Return rows as JSON; those of each number are half a minute later than those of the number before."""
    rows = [
        {
            "card": f"c{(number * 7 + row) % CARDS}",
            "amount": 10 * number + row,
            "ts": 1_700_000_000 + 30 * number + 3 * row,
        }
        for row in range(ROWS)
    ]
    return [json.dumps(row) for row in rows]


def add_steps(tx: Stream, work: Path) -> None:
    """Add a window, a running aggregate that reads its exchange, and their sinks."""
    timed = tx.with_columns(ts="timestamp_seconds(ts)").event_time("ts", out_of_order="10 seconds")
    totals = timed.key_by("card").window(windows.tumbling("20 seconds"))
    sums = totals.aggregate("totals", n="count(*)", total="sum(amount)")
    sums.write(
        "totals_table", connect.sqlite(path=str(work / "out.db"), table="totals", key=["card", "window"])
    )
    running = sums.key_by("card").aggregate("running", total="sum(total)")
    running.write("running_table", connect.sqlite(path=str(work / "out.db"), table="running", key="card"))


def results(work: Path) -> dict[str, list[str]]:
    """Return the rows of the sinks of `add_steps`, and of sinks that write files."""
    rows: dict[str, list[str]] = {}
    with sqlite3.connect(work / "out.db") as database:
        for table in ("totals", "running"):
            rows[table] = sorted(map(str, database.execute(f"select * from {table}")))
    for directory in ("lines", "checkpoint/unrouted"):
        files = [
            file for file in (work / directory).rglob("*") if file.is_file() and "_headrace" not in file.parts
        ]
        if not files:
            continue
        # The time at which a dead letter was read differs between runs.
        rows[directory] = sorted(
            line.split(',"read_at"')[0] for file in files for line in file.read_text().splitlines()
        )
    return rows


@contextmanager
def _kafka() -> Iterator[Kind]:
    with tempfile.TemporaryDirectory() as place:
        cluster = kafka_server.start(Path(place), port=0)
        try:
            yield KafkaKind(cluster.servers)
        finally:
            cluster.stop()


KINDS: dict[str, Callable[[], AbstractContextManager[Kind]]] = {
    "files": lambda: nullcontext(FilesKind()),
    "kafka": _kafka,
    "log": lambda: nullcontext(LogKind()),
}
"""A context of each kind of pipeline, which starts and ends the servers that it needs."""


def run(kind: Kind, work: Path, *, until: str) -> None:
    """Run a pipeline in the Spark session of this process."""
    with kind.build(work).start(until=until, checkpoint=work / "checkpoint") as running:  # type: ignore[arg-type]
        running.wait()


@contextmanager
def crash_at(step: str, count: int) -> Iterator[None]:
    """End the run inside the block as a kill would; nothing after the step is written."""
    with suppress(HeadraceError), failpoints.arm(step, count):
        yield
