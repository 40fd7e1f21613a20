"""Lookups per key in Redis and PostgreSQL: batched by Headrace, and one call per row in a Python worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow

from benchmarks.connectors import plain_pyspark
from benchmarks.connectors.setting import Outcome, Setting, measure_run
from benchmarks.joins.events import is_known
from benchmarks.noop_sink import NoopSink
from headrace import Pipeline, connect
from headrace.connectors.base import Connector

PAYMENTS = "card bigint, ts bigint, amount double, shop string"
CARDS = "country string, credit int"
FOUND = f"card bigint, amount double, {CARDS}"
Find = Callable[[int], tuple[str, int] | None]


def card(number: int) -> tuple[str, int]:
    """Return the row of a card."""
    return f"c{number % 40}", number % 1000


@contextmanager
def redis(keys: int) -> Iterator[str]:
    """Run a Redis with the known cards as JSON values; yields its address."""
    from tests.support.redis_server import running_redis

    with running_redis() as server, server.client() as client:
        for first in range(0, keys, 20_000):
            pipe = client.pipeline(transaction=False)
            for number in filter(is_known, range(first, min(first + 20_000, keys))):
                country, credit = card(number)
                pipe.set(f"card:{number}", json.dumps({"country": country, "credit": credit}))
            pipe.execute()
        yield server.url


@contextmanager
def postgres(keys: int) -> Iterator[str]:
    """Run a PostgreSQL with a table of the known cards; yields its address."""
    import psycopg
    from tests.support.servers import started

    with started("postgres") as server:
        with psycopg.connect(server.url) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE cards (card bigint PRIMARY KEY, country text, credit int)")
            with cursor.copy("COPY cards FROM STDIN") as copy:
                for number in filter(is_known, range(keys)):
                    copy.write_row((number, *card(number)))
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE cards")
        yield server.url


def from_redis(setting: Setting) -> Outcome:
    """Look cards up in Redis."""
    return _looked_up(setting, connect.redis(url=setting.database, json="card:{card}"))


def from_postgres(setting: Setting) -> Outcome:
    """Look cards up in PostgreSQL."""
    return _looked_up(setting, connect.postgres(url=setting.database, table="cards"))


def _looked_up(setting: Setting, table: Connector) -> Outcome:
    pipeline = Pipeline("bench-lookups")
    source = connect.kafka(servers=setting.servers, topic=setting.topic, max_per_batch=setting.batch)
    rows = pipeline.read("payments", source, format="json", schema=PAYMENTS).select("card", "amount")
    schema = CARDS if table.kind == "redis" else None
    measured = rows.lookup("cards", table, on="card", load="key", on_miss="drop", cache=0, schema=schema)
    sink = NoopSink()
    measured.write("out", sink)
    taken = measure_run(setting, lambda: pipeline.run(until="caught_up", checkpoint=setting.checkpoint()))
    return Outcome(taken, sink.tally.panes)


def each_from_redis(setting: Setting) -> Outcome:
    """Call Redis for each row."""
    url = setting.database

    def connected() -> Find:
        import redis as client

        session = client.Redis.from_url(url)

        def find(number: int) -> tuple[str, int] | None:
            value: Any = session.get(f"card:{number}")
            if value is None:
                return None
            row = json.loads(value)
            return row["country"], row["credit"]

        return find

    return _each(setting, connected)


def each_from_postgres(setting: Setting) -> Outcome:
    """Query PostgreSQL for each row, with a prepared statement."""
    url = setting.database

    def connected() -> Find:
        import psycopg

        session = psycopg.connect(url, autocommit=True)

        def find(number: int) -> tuple[str, int] | None:
            query = "SELECT country, credit FROM cards WHERE card = %s"
            return session.execute(query, (number,), prepare=True).fetchone()

        return find

    return _each(setting, connected)


def _each(setting: Setting, connected: Callable[[], Find]) -> Outcome:
    """Run a function over Arrow batches that makes one call per row."""

    def look_up(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        find = connected()
        for batch in batches:
            numbers, amounts = batch.column(0).to_pylist(), batch.column(1).to_pylist()
            rows = [
                (number, amount, *row)
                for number, amount in zip(numbers, amounts, strict=True)
                if (row := find(number)) is not None
            ]
            names = ("card", "amount", "country", "credit")
            types = (pyarrow.int64(), pyarrow.float64(), pyarrow.string(), pyarrow.int32())
            columns = zip(*rows, strict=True) if rows else ([] for _ in names)
            arrays = [pyarrow.array(list(column), kind) for column, kind in zip(columns, types, strict=True)]
            yield pyarrow.RecordBatch.from_arrays(arrays, names=list(names))

    rows = plain_pyspark.events(setting, setting.topic, PAYMENTS, setting.batch).select("card", "amount")
    mapper: Any = look_up
    return plain_pyspark.count_results(setting, rows.mapInArrow(mapper, FOUND))
