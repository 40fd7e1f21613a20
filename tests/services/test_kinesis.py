"""Kinesis against moto: shards, reshards, starts, replays, limits and errors."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.kinesis import Kinesis
from headrace.connectors.kinesis.shards import ShardOffset, Shards, readable_shards
from headrace.connectors.kinesis.source import ShardEnumerator
from headrace.errors import DeliveryError, HeadraceError
from headrace.testing import delivery
from tests.support.kinesis_server import KinesisServer, running_kinesis

_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[KinesisServer]:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    with pytest.MonkeyPatch.context() as patch, running_kinesis() as process:
        for name, value in keys.items():
            patch.setenv(name, value)
        yield process


@pytest.fixture
def stream(server: KinesisServer) -> str:
    """A stream of two shards that no other test uses."""
    name = f"stream{next(_numbers)}"
    server.create(name)
    return name


def options(server: KinesisServer, stream: str, **more: Any) -> Kinesis:
    return connect.kinesis(stream=stream, region="eu-north-1", endpoint=server.endpoint, **more)


def record(number: int) -> tuple[str, bytes]:
    return f"key{number}", json.dumps({"id": number}).encode()


def run(pipeline: Pipeline, source: Kinesis, place: Path) -> list[dict[str, Any]]:
    rows = pipeline.read("tx", source, format="json", schema="id int")
    rows.write("out", connect.files(path=place / "out", format="json"))
    pipeline.run(until="caught_up", checkpoint=place / "checkpoint")
    lines = [line for file in (place / "out").glob("*.json") for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def test_all_shards_are_read_and_the_next_run_resumes(
    spark: SparkSession, server: KinesisServer, stream: str, tmp_path: Path
) -> None:
    server.put(stream, [record(n) for n in range(100)])
    source = options(server, stream, metadata={"partition_key": "key", "shard": "shard"}, max_per_batch=30)
    rows = run(Pipeline(stream), source, tmp_path)
    assert sorted(row["id"] for row in rows) == list(range(100))
    assert all(row["key"] == f"key{row['id']}" for row in rows)
    assert len({row["shard"] for row in rows}) == 2
    server.put(stream, [record(n) for n in range(100, 110)])
    rows = run(Pipeline(stream), source, tmp_path)
    assert sorted(row["id"] for row in rows) == list(range(110))


def test_children_are_read_after_their_parent(server: KinesisServer, stream: str) -> None:
    server.put(stream, [record(n) for n in range(20)])
    client = server.client()
    parent = client.list_shards(StreamName=stream)["Shards"][0]
    bounds = parent["HashKeyRange"]
    middle = (int(bounds["StartingHashKey"]) + int(bounds["EndingHashKey"])) // 2
    client.split_shard(StreamName=stream, ShardToSplit=parent["ShardId"], NewStartingHashKey=str(middle))
    shards = Shards(client, stream, "earliest")
    listed = shards.list()
    children = {name for name, shard in listed.items() if shard.get("ParentShardId") == parent["ShardId"]}
    assert children.isdisjoint(shard["ShardId"] for shard in readable_shards(listed, {}))
    enumerator = ShardEnumerator(options(server, stream), "tx")
    enumerator.available()
    end = enumerator.latest(enumerator.initial())
    offsets = {name: ShardOffset(**offset) for name, offset in end["shards"].items()}
    assert offsets[parent["ShardId"]].exhausted
    readable = {shard["ShardId"] for shard in readable_shards(listed, offsets)}
    # moto stores new records in the parent, so only the order of the shards can be seen here
    assert readable == set(listed) - {parent["ShardId"]} >= children
    enumerator.close()


def test_an_interrupted_epoch_is_read_again(server: KinesisServer, stream: str) -> None:
    server.put(stream, [record(n) for n in range(50)])
    source = options(server, stream, max_per_batch=20)
    planned = ShardEnumerator(source, "tx")
    start = planned.initial()
    end = planned.latest(start)
    server.put(stream, [record(n) for n in range(50, 60)])
    replayed = ShardEnumerator(source, "tx")
    assert replayed.splits(start, end) == planned.splits(start, end)
    lost = {**end, "shards": {name: {**part, "count": 99} for name, part in end["shards"].items()}}
    with pytest.raises(RuntimeError, match="cannot be read again"):
        replayed.splits(start, lost)


def test_latest_skips_older_records(server: KinesisServer, stream: str) -> None:
    server.put(stream, [record(n) for n in range(10)])
    enumerator = ShardEnumerator(options(server, stream, start="latest"), "tx")
    start = enumerator.initial()
    enumerator.available()
    assert enumerator.latest(start) == start


def test_source_delivers_exactly_once(server: KinesisServer, stream: str) -> None:
    def feed(trial: str) -> delivery.Feed:
        name = f"{stream}-{trial}".replace(" ", "-")
        server.create(name)

        def add(ids: Any) -> None:
            server.put(name, [record(number) for number in ids])

        return delivery.Feed(options(server, name, every="200 milliseconds"), add, format="json")

    report = delivery.check_source(feed)
    assert report.passed, str(report)


def test_sink_sends_every_row_with_its_key(
    spark: SparkSession, server: KinesisServer, stream: str, tmp_path: Path
) -> None:
    pipeline = Pipeline(stream)
    rows = pipeline.read(
        "tx",
        connect.memory(rows=[{"id": n, "k": f"k{n % 5}"} for n in range(1200)]),
        schema="id int, k string",
    )
    rows.write("out", options(server, stream, partition_key="{k}"))
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    values = Counter(json.loads(value)["id"] for value in server.values(stream))
    assert values == Counter(range(1200))


def test_region_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    client = Kinesis(stream="orders").service.connect()
    assert client.meta.region_name == "eu-north-1"
    client.close()


def test_a_missing_stream_is_reported(spark: SparkSession, server: KinesisServer, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="nowhere") as error:
        run(Pipeline("missing"), options(server, "nowhere", retry_timeout="0 seconds"), tmp_path)
    assert "create the stream" in str(error.value)
    pipeline = Pipeline("missing2")
    pipeline.read("tx", connect.memory(rows=[{"id": 1}]), schema="id int").write(
        "out", options(server, "nowhere")
    )
    with pytest.raises(DeliveryError, match="create the stream"):
        pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint2")
