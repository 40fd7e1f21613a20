"""The job that is killed: messages from every broker and from HTTP, copied to message sinks.

Run as `python edge_job.py PLACES WORK`: PLACES is JSON, the addresses of the servers. One process holds the
receivers, the queries and the sinks, so that one kill ends all of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect


def build(places: dict[str, str]) -> Pipeline:
    """Build the pipeline: `kills` is read everywhere, `copies` is written."""
    pipeline = Pipeline("edge")
    rabbit, redis = places["rabbitmq"], places["redis"]
    flows: dict[str, tuple[Any, Any]] = {
        "mqtt": (
            connect.mqtt(url=places["mqtt"], topics=["kills"]),
            connect.mqtt(url=places["mqtt"], topic="copies"),
        ),
        "rabbitmq": (
            connect.rabbitmq(url=rabbit, queue="kills"),
            connect.rabbitmq(url=rabbit, exchange="", routing_key="copies"),
        ),
        "redis": (connect.redis(url=redis, stream="kills"), connect.redis(url=redis, stream="copies")),
        "http": (connect.http(listen=places["http"]), connect.webhook(places["webhook"], batch=5)),
    }
    for name, (source, sink) in flows.items():
        encoding = None if name == "redis" else "json"
        pipeline.read(name, source, format=encoding, schema="id int").write(f"{name}_copies", sink)
    return pipeline


if __name__ == "__main__":
    checkpoint = Path(sys.argv[2]) / "checkpoint"
    settings = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"}
    build(json.loads(sys.argv[1])).run(checkpoint=checkpoint, master="local[2]", conf=settings)
