"""Redis against a real server: streams, groups, hashes, sorted sets, channels, lookups and kills."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import WriteContext
from headrace.connectors.lookups import LookupContext
from headrace.errors import DeliveryError, HeadraceError, SourceError
from headrace.formats import Schema
from headrace.lookups.worker import LookupTask, WorkerLookup
from headrace.testing import delivery
from tests.support.redis_server import RedisProcess, running_redis
from tests.support.sinks import deliver

_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisProcess]:
    with running_redis() as process:
        yield process


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"name{next(_numbers)}"


def context(sink: str) -> WriteContext:
    return WriteContext("pipe", sink, "checkpoint", "append", "")


def read_stored(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for file in path.glob("*.json") for line in file.read_text().splitlines()]
    return sorted(lines, key=lambda row: row["id"])


def test_fields_of_entries_are_columns(
    spark: SparkSession, server: RedisProcess, name: str, tmp_path: Path
) -> None:
    with server.client() as client:
        ids = [client.xadd(name, {"id": n, "note": "ä"} if n else {"id": n}) for n in range(3)]
        pipeline = Pipeline(name)
        source = connect.redis(
            url=server.url, stream=name, group="g", metadata={"id": "entry"}, max_per_batch=2
        )
        rows = pipeline.read("tx", source, schema="id int, note string")
        rows.write("out", connect.files(path=tmp_path / "out", format="json"))
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
        assert [(row["id"], row["note"], row["entry"]) for row in read_stored(tmp_path / "out")] == [
            (0, None, ids[0]),
            (1, "ä", ids[1]),
            (2, "ä", ids[2]),
        ]
        [group] = client.xinfo_groups(name)
    assert (group["name"], group["entries-read"]) == ("g", 3)
    assert group["pending"] <= 1  # the last epoch is acknowledged when the next one is planned


def test_records_in_a_format_and_dead_letters(
    spark: SparkSession, server: RedisProcess, name: str, tmp_path: Path
) -> None:
    with server.client() as client:
        for record in ('{"id": 1}', "broken", '{"id": 2}'):
            client.xadd(name, {"data": record})
    pipeline = Pipeline(name)
    rows = pipeline.read("tx", connect.redis(url=server.url, stream=name), format="json", schema="id int")
    rows.write("out", connect.files(path=tmp_path / "out", format="json"))
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    assert [row["id"] for row in read_stored(tmp_path / "out")] == [1, 2]
    [dead] = (tmp_path / "checkpoint" / "unrouted" / "tx.dead_letters").glob("*.json")
    assert json.loads(dead.read_text())["partition"] == name


def test_killed_runs_and_servers_lose_and_double_nothing_at_the_source(
    spark: SparkSession, server: RedisProcess, name: str
) -> None:
    trials = itertools.count()

    def feed(trial: str) -> delivery.Feed:
        stream = f"{name}:{next(trials)}"

        def add(ids: Any) -> None:
            with server.client() as client:
                for number in ids:
                    client.xadd(stream, {"id": number})

        return delivery.Feed(connect.redis(url=server.url, stream=stream, retry_timeout="5 minutes"), add)

    report = delivery.check_source(feed, disturbances={"the server is killed": lambda _: server.restart()})
    assert report.passed, str(report)


@pytest.mark.parametrize("kind", ["stream", pytest.param("hash", marks=pytest.mark.proof)])
def test_killed_runs_and_servers_lose_and_double_nothing_at_the_sink(
    spark: SparkSession, server: RedisProcess, name: str, kind: str
) -> None:
    trials = itertools.count()

    def target(trial: str) -> delivery.Target:
        key = f"{name}:{next(trials)}"
        if kind == "hash":
            sink = connect.redis(url=server.url, hash=f"{key}:{{id}}", retry_timeout="5 minutes")
        else:
            sink = connect.redis(url=server.url, stream=key, retry_timeout="5 minutes")

        def ids() -> list[int]:
            with server.client() as client:
                client.delete("headrace:ledger:delivery:sink")  # of the next trial
                if kind == "hash":
                    return [int(client.hget(actual, "id")) for actual in client.keys(f"{key}:*")]
                return [int(fields["id"]) for _, fields in client.xrange(key)]

        return delivery.Target(sink, ids)

    report = delivery.check_sink(
        spark, target, disturbances={"the server is killed": lambda _: server.restart()}
    )
    assert report.passed, str(report)


def test_hash_holds_the_last_row_and_a_retraction_removes_it(
    spark: SparkSession, server: RedisProcess, name: str
) -> None:
    sink = connect.redis(url=server.url, hash=f"{name}:{{card}}")
    select = (
        "select card, v, named_struct('index', 0, 'retraction', gone) pane from values {} as t(card, v, gone)"
    )
    deliver(sink, context(name), 0, spark.sql(select.format("('a', 1, false), ('b', 1, false)")))
    rows = "('a', null, false), ('b', 1, true), ('c', 7, false)"
    deliver(sink, context(name), 1, spark.sql(select.format(rows)))
    with server.client() as client:
        actual = {key: client.hgetall(f"{name}:{key}") for key in "abc"}
    assert actual == {"a": {"card": "a"}, "b": {}, "c": {"card": "c", "v": "7"}}


def test_sorted_set_stream_and_channel(spark: SparkSession, server: RedisProcess, name: str) -> None:
    frame = spark.sql(
        "select * from values ('FI', 'a', 2.5), ('FI', 'b', 1), ('SE', 'a', 9) as t(country, card, total)"
    )
    with server.client() as client, client.pubsub() as messages:
        scores = connect.redis(
            url=server.url, sorted_set=f"{name}:{{country}}", member="{card}", score="total"
        )
        deliver(scores, context(f"{name}-set"), 0, frame)
        assert client.zrange(f"{name}:FI", 0, -1, withscores=True) == [("b", 1.0), ("a", 2.5)]
        entries = connect.redis(
            url=server.url, stream=f"{name}:entries", format="json", field="data", value=["card"]
        )
        deliver(entries, context(f"{name}-stream"), 0, frame.coalesce(1))
        assert next(fields for _, fields in client.xrange(f"{name}:entries")) == {"data": '{"card":"a"}'}
        messages.subscribe(f"{name}:SE")
        assert messages.get_message(timeout=60)["type"] == "subscribe"
        deliver(
            connect.redis(url=server.url, channel=f"{name}:{{country}}"), context(f"{name}-channel"), 0, frame
        )
        message = messages.get_message(timeout=60)
        assert message is not None
        assert json.loads(message["data"])["card"] == "a"


@pytest.mark.parametrize("kind", ["hash", "json"])
def test_lookup_reads_hashes_and_json_values(
    spark: SparkSession, server: RedisProcess, name: str, kind: str, tmp_path: Path
) -> None:
    with server.client() as client:
        if kind == "hash":
            client.hset(f"{name}:1", mapping={"country": "FI", "limit": "2.5"})
        else:
            client.set(f"{name}:1", '{"country": "FI", "limit": 2.5, "tags": ["x"]}')
    pipeline = Pipeline(name)
    rows = pipeline.read("tx", connect.memory(rows=[{"id": 1}, {"id": 2}]), schema="id int")
    table = connect.redis(url=server.url, **{kind: f"{name}:{{id}}"})
    schema = "country string, limit double, tags array<string>"
    actual = rows.lookup("cards", table, on="id", load="key", schema=schema)
    actual.write("out", connect.files(path=tmp_path / "out", format="json"))
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    tags = ["x"] if kind == "json" else None
    assert read_stored(tmp_path / "out") == [
        {"id": 1, "country": "FI", "limit": 2.5, "tags": tags},
        {"id": 2, "country": None, "limit": None, "tags": None},
    ]


def test_lookup_continues_when_the_server_comes_back(server: RedisProcess, name: str) -> None:
    with server.client() as client:
        client.hset(f"{name}:1", "v", "10")
    options = connect.redis(url=server.url, hash=f"{name}:{{id}}", retry_timeout="5 minutes")
    table = options.key_table(LookupContext("step", ("id",), Schema.of("v int")))
    worker = WorkerLookup(LookupTask("task", "step", 1, table, 0, 0.0))
    assert worker.find([("1",)]) == [[("10",)]]
    server.restart()
    assert worker.find([("1",), ("2",)]) == [[("10",)], ()]
    worker.close()


def test_errors_name_the_server_and_a_remedy(
    spark: SparkSession, server: RedisProcess, name: str, tmp_path: Path
) -> None:
    with server.client() as client:
        client.set(name, "text")
    frame = spark.sql("select 1 id")
    with pytest.raises(DeliveryError) as refused:
        deliver(connect.redis(url=server.url, stream=name), context(name), 0, frame)
    assert (
        f"stream `{name}` of Redis at 127.0.0.1:{server.port}/0 cannot commit epoch 0" in refused.value.what
    )
    assert "another type" in refused.value.hint
    with server.client() as client:  # the epoch is not in the ledger: nothing is lost
        client.delete(name)
        deliver(connect.redis(url=server.url, stream=name), context(name), 0, frame)
        assert client.xlen(name) == 1
    with pytest.raises(DeliveryError, match=r"Redis at 127\.0\.0\.1:1 cannot be opened"):
        deliver(connect.redis(url="redis://127.0.0.1:1", stream=name), context(name), 0, frame)
    with pytest.raises(DeliveryError, match="unknown column `crad`"):
        deliver(connect.redis(url=server.url, hash="x:{crad}"), context(name), 1, frame)
    table = connect.redis(url=server.url, hash="x:{crad}")
    with pytest.raises(SourceError, match="unknown key column `crad`"):
        table.key_table(LookupContext("step", ("card",), Schema.of("v int")))
    pipeline = Pipeline(name)
    pipeline.read(
        "tx",
        connect.redis(url="redis://127.0.0.1:1", stream=name, retry_timeout="0 seconds"),
        schema="id int",
    ).write("out", connect.console())
    with pytest.raises(HeadraceError, match=r"Redis at 127\.0\.0\.1:1 cannot be read"):
        pipeline.run(until="caught_up", checkpoint=tmp_path)
