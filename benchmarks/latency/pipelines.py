"""The pipelines under test, in Headrace and Flink SQL, and their input records."""

from __future__ import annotations

import json
import time
from typing import Literal

from benchmarks.engines.flink import Flink, kafka_table
from headrace import Pipeline, connect, patterns, triggers, windows

Kind = Literal["stateless", "windows", "patterns"]
KINDS: tuple[Kind, ...] = ("stateless", "windows", "patterns")
KEYS = 100


def build(servers: str, name: str, kind: Kind) -> Pipeline:
    """Build the pipeline under test over the topics with this prefix."""
    pipeline = Pipeline(name)
    source = connect.kafka(servers=servers, topic=f"{name}-in", start="latest")
    rows = pipeline.read(
        "tx", source, format="json", schema="k string, v int, sent bigint", on_error="skip"
    ).with_columns(ts="timestamp_millis(sent)")
    out = connect.kafka(servers=servers, topic=f"{name}-out", key="k")
    if kind == "stateless":
        rows.where("v >= 0").write("out", out)
        return pipeline
    if kind == "patterns":
        pair = patterns.step("login", "v = 0").followed_by("pay", "v > 90")
        pairs = (
            rows.event_time("ts")
            .key_by("k")
            .match(
                "pairs", pair, within="60 seconds", order="arrival", select={"sent": "pay.sent", "v": "pay.v"}
            )
        )
        pairs.write("out", out)
        # Real-time mode needs a topic for every output: unrouted side outputs are files.
        pairs.late.write("late", connect.kafka(servers=servers, topic=f"{name}-late"))
        pairs.timeouts.write("timeouts", connect.kafka(servers=servers, topic=f"{name}-late"))
        return pipeline
    windowed = rows.event_time("ts").key_by("k").window(windows.tumbling("1 hour"))
    totals = windowed.emit(early=triggers.after_count(1)).aggregate("totals", n="count(*)", sent="max(sent)")
    totals.write("out", out)
    totals.late.write("late", connect.kafka(servers=servers, topic=f"{name}-late"))
    return pipeline


def flink(servers: str, name: str, kind: Kind) -> None:
    """Run the Flink SQL job until this process ends, without checkpoints and buffer timeout."""
    columns = "k string, v int, sent bigint"
    latest = {"scan.startup.mode": "latest-offset"}
    with Flink(checkpoints=None, settings={"execution.buffer-timeout.interval": "0 ms"}) as engine:
        engine.sql(kafka_table("tx", columns, servers, f"{name}-in", options=latest))
        if kind == "stateless":
            engine.sql(kafka_table("results", columns, servers, f"{name}-out"))
            query = "select k, v, sent from tx where v >= 0"
        else:
            keyed = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
            engine.sql(
                kafka_table(
                    "results",
                    "k string, hour_ bigint, n bigint, sent bigint, primary key (k, hour_) not enforced",
                    servers,
                    f"{name}-out",
                    options=keyed,
                )
            )
            query = "select k, sent / 3600000, count(*), max(sent) from tx group by k, sent / 3600000"
        job = engine.start(f"insert into results {query}")
        job.getJobExecutionResult().get()


def line(number: int, kind: Kind) -> tuple[str, str]:
    """Return a record; for patterns, every second record completes a match with the one before."""
    if kind == "patterns":
        return record(f"k{number // 2 % KEYS}", 91 if number % 2 else 0)
    return record(f"k{number % KEYS}", number)


def record(key: str, value: int, sent: int | None = None) -> tuple[str, str]:
    """Return a key and a JSON value; `sent` defaults to now."""
    now = time.time_ns() // 1_000_000 if sent is None else sent
    return key, json.dumps({"k": key, "v": value, "sent": now})
