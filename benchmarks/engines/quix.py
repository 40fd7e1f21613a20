# /// script
# requires-python = ">=3.11"
# dependencies = ["quixstreams>=3.20,<4"]
# ///
"""The mean of the last 100 amounts of each key in Quix Streams, over a topic of a local broker.

A script with its own environment (`uv run --script`). It produces the rows, then runs the operator on
all of them, and prints the seconds from the first row to the last and the sum of the means, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from typing import Any

from confluent_kafka import Producer
from quixstreams import Application

LAST = 100


def main(servers: str, name: str, rows: int, keys: int) -> None:
    """Produce, process and print."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50})
    for n in range(rows):
        producer.produce(name, json.dumps({"id": n, "amount": float(n % 97)}), str(n % keys))
        if n % 10_000 == 0:
            producer.poll(1)
    producer.flush()
    began, total = 0.0, 0.0

    def mean(row: dict[str, Any], state: Any) -> float:
        nonlocal began, total
        began = began or time.perf_counter()
        last: list[float] = state.get("last", [])
        last.append(row["amount"])
        if len(last) > LAST:
            del last[0]
        state.set("last", last)
        value = sum(last) / len(last)
        total += value
        return value

    with tempfile.TemporaryDirectory() as directory:
        app = Application(
            servers, consumer_group=name, auto_offset_reset="earliest", state_dir=directory, loglevel=None
        )
        topic = app.topic(name, key_deserializer="str", value_deserializer="json")
        app.dataframe(topic).apply(mean, stateful=True)
        app.run(count=rows, timeout=30)
        print(json.dumps({"seconds": time.perf_counter() - began, "sum": total}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
