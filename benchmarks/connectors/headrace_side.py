"""The cases as Headrace pipelines."""

from __future__ import annotations

from typing import Literal

from benchmarks.connectors.setting import COLUMNS, DISORDER, FEW, Outcome, Setting, measure_run
from benchmarks.noop_sink import NoopSink
from benchmarks.topics import create_empty_topic
from headrace import Pipeline, connect, windows
from headrace.connectors.base import Connector
from headrace.streams.rows import Rows
from headrace.streams.stream import Stream


def filter_events(setting: Setting) -> Outcome:
    """Filter a tenth of the JSON events."""
    pipeline, events = _read(setting)
    return _run(setting, pipeline, events.where(FEW).select("k", "v"))


def tumbling(setting: Setting) -> Outcome:
    """Count and sum per key and minute; late rows go to a side output."""
    return _tumbling(setting, "kernel")


def tumbling_counted(setting: Setting) -> Outcome:
    """Count and sum per key and minute; late rows are counted and dropped, as in Spark."""
    return _tumbling(setting, "native")


def to_kafka(setting: Setting) -> Outcome:
    """Write every event to another topic with one number changed, exactly-once."""
    pipeline, events = _read(setting)
    sink = connect.kafka(
        servers=setting.servers, topic=create_empty_topic(setting.servers, "by-headrace"), key="k"
    )
    return _run(setting, pipeline, events.select("k", "ts", v="v * 2"), sink)


def to_postgres(setting: Setting) -> Outcome:
    """Upsert every event by key, exactly-once."""
    return _to_postgres(setting, key=("k", "ts"))


def to_postgres_appended(setting: Setting) -> Outcome:
    """Append every event to a table without a key, exactly-once."""
    return _to_postgres(setting, key=())


def _to_postgres(setting: Setting, key: tuple[str, ...]) -> Outcome:
    import psycopg

    with psycopg.connect(setting.database, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS by_headrace")
    pipeline, events = _read(setting)
    sink = connect.postgres(url=setting.database, table="by_headrace", key=key)
    return _run(setting, pipeline, events, sink)


def _tumbling(setting: Setting, engine: Literal["kernel", "native"]) -> Outcome:
    pipeline, events = _read(setting)
    timed_rows = events.with_columns(at="timestamp_millis(ts)").event_time("at", out_of_order=DISORDER)
    keyed, minute = timed_rows.key_by("k"), windows.tumbling("1 minute")
    windowed = keyed.window(minute, engine="native") if engine == "native" else keyed.window(minute)
    return _run(setting, pipeline, windowed.aggregate("sums", n="count(*)", total="sum(v)"))


def _read(setting: Setting) -> tuple[Pipeline, Stream]:
    pipeline = Pipeline("bench-connectors")
    source = connect.kafka(servers=setting.servers, topic=setting.topic, max_per_batch=setting.batch)
    return pipeline, pipeline.read("events", source, format="json", schema=COLUMNS)


def _run(setting: Setting, pipeline: Pipeline, results: Rows, sink: Connector | None = None) -> Outcome:
    noop = NoopSink()
    results.write("out", sink or noop)
    consumed = measure_run(setting, lambda: pipeline.run(until="caught_up", checkpoint=setting.checkpoint()))
    return Outcome(consumed, noop.tally.panes if sink is None else None)
