"""The pipeline that is killed.

Payments from a topic, windows, and their totals to every sink that delivers exactly once.

Run as `python everywhere.py PLACES NAME WORK`: reads the topic NAME-in, 20 records an epoch, and finishes.
PLACES is JSON: the addresses of the servers. One query has all the sinks, so that one death is a death in all
of them.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect, windows
from headrace.devtools.kafka_client import Client

ROWS = 160
CARDS = ("4571", "4572", "4573")
BROKEN = len([second for second in range(ROWS) if not second % 50])
Query = Callable[[str], Sequence[tuple[Any, ...]]]


@dataclass(frozen=True)
class Places:
    """The addresses of the servers."""

    kafka: str
    postgres: str
    mysql: str

    def words(self) -> str:
        return json.dumps(asdict(self))


def write_input(client: Client, name: str, seed: int = 7) -> None:
    """Payments in four partitions by card, and a few records that are no JSON."""
    chance = random.Random(seed)
    for topic in ("in", "out", "broken"):
        client.create(f"{name}-{topic}", partitions=4)
    records = []
    for second in range(ROWS):
        card = chance.choice(CARDS)
        payment = {"card": card, "amount": chance.randrange(1, 900), "ts": 1_700_000_000 + second}
        records.append((card, json.dumps(payment) if second % 50 else f"broken {second}"))
    client.produce(f"{name}-in", records)


def build(places: Places, name: str, work: Path) -> Pipeline:
    """The pipeline over the topics and tables of a name."""
    pipeline = Pipeline(name)
    source = connect.kafka(servers=places.kafka, topic=f"{name}-in", max_per_batch=20)
    tx = pipeline.read("tx", source, format="json", schema="card string, amount int, ts bigint")
    timed = tx.with_columns(ts="timestamp_seconds(ts)").event_time("ts", out_of_order="60 seconds")
    panes = timed.key_by("card").window(windows.tumbling("20 seconds")).emit(lateness="1 hour")
    totals = panes.aggregate("totals", n="count(*)", total="sum(amount)")
    key = ["card", "window"]
    totals.write("kafka", connect.kafka(servers=places.kafka, topic=f"{name}-out", key="card"))
    totals.write("postgres", connect.postgres(url=places.postgres, table=table(name), key=key))
    totals.write("postgres_log", connect.postgres(url=places.postgres, table=f"{table(name)}_log"))
    totals.write("mysql", connect.mysql(url=places.mysql, table=table(name), key=key))
    totals.write("sqlite", connect.sqlite(path=work / "out.db", table="totals"))
    totals.write("files", connect.files(path=work / "totals", format="json"))
    tx.dead_letters.write(
        "broken", connect.kafka(servers=places.kafka, topic=f"{name}-broken", value="raw", format="raw")
    )
    return pipeline


def table(name: str) -> str:
    return name.replace("-", "_")


def results(
    client: Client, postgres: Query, mysql: Query, name: str, work: Path
) -> dict[str, list[tuple[Any, ...]]]:
    """Return the sorted contents of every sink: card, rows and total of each window.

    Of the broken records, themselves.
    """
    from tests.support.topics_held import (
        held,  # a run, which this file is too, has no business with what tests share
    )

    columns = f"SELECT card, n, total FROM {table(name)}"
    with closing(sqlite3.connect(work / "out.db")) as database:
        kept = database.execute("SELECT card, n, total FROM totals").fetchall()
    lines = (line for path in (work / "totals").glob("*.json") for line in path.read_text().splitlines())
    actual = {
        "kafka": _panes(str(record.value) for record in held(client, f"{name}-out")),
        "postgres": [tuple(map(_plain, row)) for row in postgres(columns)],
        "postgres_log": [tuple(map(_plain, row)) for row in postgres(columns + "_log")],
        "mysql": [tuple(map(_plain, row)) for row in mysql(columns)],
        "sqlite": kept,
        "files": _panes(lines),
        "broken": [(str(record.value),) for record in held(client, f"{name}-broken")],
    }
    return {sink: sorted(rows) for sink, rows in actual.items()}


def _panes(lines: Any) -> list[tuple[Any, ...]]:
    return [(pane["card"], pane["n"], pane["total"]) for pane in map(json.loads, lines)]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else int(value)


if __name__ == "__main__":
    place = Path(sys.argv[3])
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    started = build(Places(**json.loads(sys.argv[1])), sys.argv[2], place).start(
        until="drained", checkpoint=place / "checkpoint", master="local[2]", conf=settings
    )
    with started as running:
        running.wait()
