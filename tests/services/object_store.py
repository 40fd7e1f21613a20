"""The pipeline over files in S3 that is killed: `python object_store.py ENDPOINT NAME WORK`."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect, windows

BUCKET = "lake"
LOGIN = {"aws_access_key_id": "key", "aws_secret_access_key": "hush"}
FILES, ROWS = 12, 40


def client(endpoint: str) -> Any:
    import boto3

    return boto3.client("s3", region_name="us-east-1", endpoint_url=endpoint, **LOGIN)


def write_input(endpoint: str, name: str) -> Counter[tuple[str, str, int]]:
    """Write payments, and return the row that each window of each card must produce."""
    store, chance, panes = client(endpoint), random.Random(7), Counter[tuple[str, str]]()
    for number in range(FILES):
        lines = []
        for second in range(number * ROWS, (number + 1) * ROWS):
            card = chance.choice("ABC")
            panes[card, f"2026-03-01T00:{second // 60:02}:00.000000Z"] += 1
            lines.append(
                json.dumps({"card": card, "ts": f"2026-03-01T00:{second // 60:02}:{second % 60:02}Z"})
            )
        store.put_object(Bucket=BUCKET, Key=f"{name}/in/{number:03}.json", Body="\n".join(lines).encode())
    return Counter({(card, start, n): 1 for (card, start), n in panes.items()})


def results(endpoint: str, name: str) -> Counter[tuple[str, str, int]]:
    """Return the rows that a reader of the bucket sees, and how often each is there."""
    store = client(endpoint)
    pages = store.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{name}/out/")
    keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
    visible = [key for key in keys if not any(part.startswith("_") for part in key.split("/"))]
    texts = (store.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode() for key in visible)
    rows = [json.loads(line) for text in texts for line in text.splitlines()]
    return Counter((row["card"], row["window"]["start"], row["n"]) for row in rows)


def build(name: str) -> Pipeline:
    pipeline = Pipeline(name)
    source = connect.files(path=f"s3a://{BUCKET}/{name}/in", format="json", max_files_per_batch=2)
    payments = pipeline.read("payments", source, schema="card string, ts timestamp")
    panes = payments.event_time("ts").key_by("card").window(windows.tumbling("1 minute"))
    counts = panes.aggregate("counts", n="count(*)")
    counts.write("out", connect.files(path=f"s3a://{BUCKET}/{name}/out", format="json"))
    return pipeline


def settings(endpoint: str) -> dict[str, str]:
    """Return the Spark settings of the store; in production the credentials come from the environment."""
    store = {
        "endpoint": endpoint, "endpoint.region": "us-east-1", "path.style.access": "true",
        "access.key": LOGIN["aws_access_key_id"], "secret.key": LOGIN["aws_secret_access_key"],
    }  # fmt: skip
    sizes = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    return sizes | {f"spark.hadoop.fs.s3a.{name}": value for name, value in store.items()}


if __name__ == "__main__":
    work = Path(sys.argv[3])
    conf = settings(sys.argv[1])
    started = build(sys.argv[2]).start(
        until="drained", checkpoint=work / "checkpoint", master="local[2]", conf=conf
    )
    with started as run:
        run.wait()
