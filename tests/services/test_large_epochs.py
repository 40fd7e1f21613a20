"""Kafka to PostgreSQL in large epochs, killed after every step and at random.

CI has small epochs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.devtools.kafka_client import Client
from headrace.testing.delivery.sinks import kill_at_random
from tests.support.servers import Server

pytestmark = pytest.mark.proof

ROWS, EPOCH = 600_000, 60_000
STEPS = ("fenced", "swept", "prepared", "staged", "begun", "rows", "ledger", "committed", "cleared")
JOB = """
import sys
from headrace import Pipeline, connect

servers, topic, size, url, checkpoint = sys.argv[1:]
pipeline = Pipeline("large")
source = connect.kafka(servers=servers, topic=topic, max_per_batch=int(size))
rows = pipeline.read("rows", source, format="json", schema="id bigint, filling string")
rows.write("keyed", connect.postgres(url=url, table="large", key="id"))
pipeline.run(until="caught_up", checkpoint=checkpoint, master="local[2]", conf={"spark.driver.memory": "1g"})
"""


def test_killed_in_large_epochs_every_row_is_there_once(
    client: Client, servers: Callable[[str], Server], tmp_path: Path
) -> None:
    server, checkpoint = servers("postgres"), tmp_path / "checkpoint"
    client.create("large", partitions=4)
    filling = "x" * 100
    client.produce("large", ((str(i), json.dumps({"id": i, "filling": filling})) for i in range(ROWS)))

    def start(step: str = "") -> subprocess.Popen[bytes]:
        with (tmp_path / "output.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-c", JOB, client.servers, "large", str(EPOCH), server.url, str(checkpoint)],
                stdout=output,
                stderr=output,
                env={**os.environ, "HEADRACE_FAILPOINT": step} if step else None,
                start_new_session=True,
            )

    for step in STEPS:  # each run goes on where the last one died
        ended = start(f"database.{step}").wait(timeout=900)
        assert ended == -9, f"{step}: {(tmp_path / 'output.txt').read_text()[-4000:]}"
        print(f"killed after {step}", flush=True)
    kills = kill_at_random(
        start,
        lambda: sum(1 for _ in checkpoint.glob("queries/*/spark/offsets/[0-9]*")),
        kills=5,
        within=3,
    )
    [actual] = server.sql("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM large")
    print(f"and {kills} times at random: {actual}")
    assert actual == (ROWS, ROWS, 0, ROWS - 1)
    assert server.sql("SELECT tablename FROM pg_tables WHERE starts_with(tablename, '_headrace_stage')") == []
