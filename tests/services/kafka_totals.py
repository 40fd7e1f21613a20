"""The pipeline that Kafka's recovery tests kill: a topic, windows, a topic; and the records that don't decode to a third.

Run as `python kafka_totals.py SERVERS NAME WORK`: reads the topic NAME-in, 20 records an epoch, and finishes.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from headrace import Pipeline, connect, windows
from headrace.connectors.kafka.client import Client

ROWS = 160
CARDS = ("4571", "4572", "4573")


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


def build(servers: str, name: str) -> Pipeline:
    """The pipeline over the topics of a name."""
    pipeline = Pipeline(name)
    source = connect.kafka(servers=servers, topic=f"{name}-in", max_per_batch=20)
    tx = pipeline.read("tx", source, format="json", schema="card string, amount int, ts bigint")
    timed = tx.with_columns(ts="timestamp_seconds(ts)").event_time("ts", out_of_order="60 seconds")
    panes = timed.key_by("card").window(windows.tumbling("20 seconds")).emit(lateness="1 hour")
    totals = panes.aggregate("totals", n="count(*)", total="sum(amount)")
    totals.write("out", connect.kafka(servers=servers, topic=f"{name}-out", key="card"))
    tx.rejects.write(
        "broken", connect.kafka(servers=servers, topic=f"{name}-broken", value="raw", format="raw")
    )
    return pipeline


def results(client: Client, name: str) -> dict[str, list[str]]:
    """Every committed record that the run has written, sorted."""
    return {
        topic: sorted(str(record.value) for record in client.consume(f"{name}-{topic}"))
        for topic in ("out", "broken")
    }


if __name__ == "__main__":
    place = Path(sys.argv[3])
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    started = build(sys.argv[1], sys.argv[2]).start(
        finish=True, checkpoint=place / "checkpoint", master="local[2]", conf=settings
    )
    with started as running:
        running.wait()
