"""The cases as pipelines."""

from __future__ import annotations

from typing import Literal

from benchmarks.connectors.setting import COLUMNS, DISORDER, FEW, Outcome, Setting, timed
from benchmarks.nowhere import Nowhere
from benchmarks.topics import fresh
from headrace import Pipeline, connect, windows
from headrace.connectors.base import Connector
from headrace.streams.rows import Rows
from headrace.streams.stream import Stream


def filtered(given: Setting) -> Outcome:
    """JSON from Kafka, a tenth of it kept."""
    pipeline, events = _read(given)
    return _run(given, pipeline, events.where(FEW).select("k", "v"))


def tumbling(given: Setting) -> Outcome:
    """Count and sum per key and minute; late rows are an output of their own."""
    return _tumbling(given, "divert")


def tumbling_counted(given: Setting) -> Outcome:
    """The same with late rows dropped and counted, as Spark does: on its own operators."""
    return _tumbling(given, "count")


def to_kafka(given: Setting) -> Outcome:
    """Every event to another topic, with one number changed: exactly once."""
    pipeline, events = _read(given)
    sink = connect.kafka(servers=given.servers, topic=fresh(given.servers, "by-headrace"), key="k")
    return _run(given, pipeline, events.select("k", "ts", v="v * 2"), sink)


def to_postgres(given: Setting) -> Outcome:
    """Every event upserted by key, exactly once."""
    return _to_postgres(given, key=("k", "ts"))


def to_postgres_appended(given: Setting) -> Outcome:
    """Every event appended to a table without a key, exactly once."""
    return _to_postgres(given, key=())


def _to_postgres(given: Setting, key: tuple[str, ...]) -> Outcome:
    import psycopg

    with psycopg.connect(given.database, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS by_headrace")
    pipeline, events = _read(given)
    sink = connect.postgres(url=given.database, table="by_headrace", key=key)
    return _run(given, pipeline, events, sink)


def _tumbling(given: Setting, late_rows: Literal["divert", "count"]) -> Outcome:
    pipeline, events = _read(given)
    timed_rows = events.with_columns(at="timestamp_millis(ts)").event_time("at", out_of_order=DISORDER)
    windowed = timed_rows.key_by("k").window(windows.tumbling("1 minute"))
    return _run(
        given,
        pipeline,
        windowed.emit(late_rows=late_rows).aggregate("sums", n="count(*)", total="sum(v)"),
    )


def _read(given: Setting) -> tuple[Pipeline, Stream]:
    pipeline = Pipeline("bench-connectors")
    source = connect.kafka(servers=given.servers, topic=given.topic, max_per_batch=given.batch)
    return pipeline, pipeline.read("events", source, format="json", schema=COLUMNS)


def _run(given: Setting, pipeline: Pipeline, results: Rows, sink: Connector | None = None) -> Outcome:
    nowhere = Nowhere()
    results.write("out", sink or nowhere)
    taken = timed(given, lambda: pipeline.run(until="caught_up", checkpoint=given.checkpoint()))
    return Outcome(taken, nowhere.tally.panes if sink is None else None)
