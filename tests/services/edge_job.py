"""The job that is killed: messages from brokers and from HTTP, copied to message sinks.

Run as `python edge_job.py PLACES WORK`: PLACES is JSON, the addresses of the servers. One process holds the
receivers, the queries and the sinks, so that one kill ends all of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect

Places = dict[str, str]
FLOWS: dict[str, Callable[[Places], tuple[Any, Any]]] = {
    "mqtt": lambda places: (
        connect.mqtt(url=places["mqtt"], topics=["kills"]),
        connect.mqtt(url=places["mqtt"], topic="copies"),
    ),
    "rabbitmq": lambda places: (
        connect.rabbitmq(url=places["rabbitmq"], queue="kills"),
        connect.rabbitmq(url=places["rabbitmq"], exchange="", routing_key="copies"),
    ),
    "redis": lambda places: (
        connect.redis(url=places["redis"], stream="kills"),
        connect.redis(url=places["redis"], stream="copies"),
    ),
    "http": lambda places: (connect.http(listen=places["http"]), connect.webhook(places["webhook"], batch=5)),
}


def build(places: Places) -> Pipeline:
    """Build the pipeline: `kills` is read from each server, `copies` is written to it."""
    pipeline = Pipeline("edge")
    for name, flow in FLOWS.items():
        if name in places:
            source, sink = flow(places)
            encoding = None if name == "redis" else "json"
            pipeline.read(name, source, format=encoding, schema="id int").write(f"{name}_copies", sink)
    return pipeline


if __name__ == "__main__":
    checkpoint = Path(sys.argv[2]) / "checkpoint"
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}
    build(json.loads(sys.argv[1])).run(checkpoint=checkpoint, master="local[2]", conf=settings)
