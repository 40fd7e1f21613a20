"""Writing Kafka: what a record is made of, where it goes, and that each epoch is there once."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headrace import connect
from headrace.connectors import failpoints
from headrace.connectors.base import WriteContext
from headrace.connectors.kafka import ledger, records
from headrace.connectors.kafka.sink import KafkaWriter
from headrace.connectors.row_encoding import fields_of
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.errors import DeliveryError, FencedError
from headrace.lowering.tables.changes import for_sink
from tests.support.sinks import deliver, rows
from tests.support.topics_held import held
from tests.support.waiting import wait_until

Topic = Callable[..., str]
SCHEMA = "card string, amount int, at timestamp"
STEPS = ("kafka.fenced", "kafka.staged", "kafka.ledger", "kafka.committed")


def run(sink: str = "out", checkpoint_id: str = "l1", mode: Any = "append") -> WriteContext:
    return WriteContext("p", sink, checkpoint_id, mode, "")


def contents(client: Client, topic: str) -> list[str]:
    """The values of all committed records of a topic in which no transaction is open."""
    return sorted(str(record.value) for record in held(client, topic))


def test_at_least_once_sends_from_tasks_and_again_after_a_replay(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic(partitions=2)
    sink = connect.kafka(
        servers=client.servers, topic=name, key="k", value="v", headers=["k"], guarantee="at_least_once"
    )
    for _ in range(2):
        deliver(sink, run("direct"), 0, rows(spark, ("a", 1), ("b", 2)))
    assert contents(client, name) == ['{"v":1}', '{"v":1}', '{"v":2}', '{"v":2}']
    assert {(record.key, record.headers["k"]) for record in held(client, name)} == {("a", "a"), ("b", "b")}
    assert sink.sink_guarantee == "at_least_once"


def test_a_record_that_a_task_cannot_send_fails_its_epoch(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic()
    sink = connect.kafka(
        servers=client.servers, topic=name, guarantee="at_least_once", settings={"max.request.size": 100}
    )
    with pytest.raises(DeliveryError, match="a row is too large for Kafka"):
        deliver(sink, run("large"), 0, rows(spark, ("a" * 1000, 1)))
    missing = connect.kafka(servers=client.servers, topic="missing", guarantee="at_least_once")
    with pytest.raises(DeliveryError, match="missing"):
        deliver(missing, run("missing"), 0, rows(spark, ("a", 1)))


def test_records_are_json_keyed_by_their_columns_and_every_key_has_one_partition(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic(partitions=3)
    frame = spark.createDataFrame([(f"c{n % 4}", n, None) for n in range(40)], SCHEMA).repartition(2)
    frame = frame.selectExpr("card", "amount", "timestamp '2026-03-01 12:00:00' as at", "'t1' as trace")
    sink = connect.kafka(servers=client.servers, topic=name, key="card", headers=["trace"])
    deliver(sink, run("keyed"), 0, frame)
    records = held(client, name)
    assert len(records) == 40
    first = next(record for record in records if record.key == "c1")
    assert json.loads(first.value or "")["at"] == "2026-03-01T12:00:00.000000Z"
    assert set(json.loads(first.value or "")) == {"card", "amount", "at"}  # a header isn't in the value too
    assert first.headers == {"trace": "t1"}
    assert all(len({r.partition for r in records if r.key == key}) == 1 for key in {r.key for r in records})
    client.produce(name, [(f"c{n}", "typed") for n in range(4)])  # from a terminal to the same partition
    assert len({(record.key, record.partition) for record in client.consume(name)}) == 4
    two = connect.kafka(servers=client.servers, topic=name, key=["card", "amount"], value="amount")
    deliver(two, run("keyed"), 1, frame.limit(1).selectExpr("'x' as card", "1 as amount"))
    assert [r.value for r in held(client, name) if r.key == '{"card":"x","amount":1}'] == ['{"amount":1}']


def test_without_a_key_partitions_take_turns_also_over_epochs_and_a_column_can_name_topic_and_partition(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name, left, right = topic(partitions=4), topic(partitions=2), topic(partitions=2)
    writer = connect.kafka(servers=client.servers, topic=name, format="text").writer()
    writer.open(run("turns"))
    for epoch in range(8):
        writer.commit(epoch, writer.stage(epoch, rows(spark, (f"{epoch}",), schema="line string")))
    writer.close()
    assert Counter(record.partition for record in held(client, name)) == {0: 2, 1: 2, 2: 2, 3: 2}
    routed = spark.createDataFrame([(left, 1, "a"), (right, 0, "b")], "to string, part int, v string")
    by_column = connect.kafka(servers=client.servers, topic_column="to", partition_column="part")
    deliver(by_column, run("routed"), 0, routed)
    assert [(r.partition, r.value) for t in (left, right) for r in held(client, t)] == [
        (1, '{"v":"a"}'),
        (0, '{"v":"b"}'),
    ]


def test_values_are_spelled_as_the_format_requires_and_lose_nothing(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic()
    frame = spark.sql(
        "select 'a;\"b' s, timestamp_ntz '1900-01-01 00:00:00.000001' t, cast(null as string) n,"
        " named_struct('start', timestamp '2026-01-01', 'end', timestamp '1969-01-01 00:00:00.000001') window"
    )
    lines = {"csv": {"delimiter": ";", "null_text": "-"}}
    deliver(connect.kafka(servers=client.servers, topic=name, format=lines), run("csv"), 0, frame)
    deliver(connect.kafka(servers=client.servers, topic=name, key="t"), run("json"), 0, frame.drop("window"))
    first, second = held(client, name)
    assert first.value == (
        '"a;""b";1900-01-01T00:00:00.000001;-;2026-01-01T00:00:00.000000Z;1969-01-01T00:00:00.000001Z'
    )
    assert second.value == '{"s":"a;\\"b","t":"1900-01-01T00:00:00.000001","n":null}'
    assert second.key == "1900-01-01T00:00:00.000001"


def test_rows_that_kafka_does_not_take_are_reported(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic()

    def get_refusal(frame: DataFrame, **options: Any) -> str:
        with pytest.raises(DeliveryError) as caught:
            deliver(connect.kafka(servers=client.servers, **options), run("no"), 0, frame)
        return str(caught.value)

    large = get_refusal(spark.sql("select repeat('x', 2000000) v"), topic=name)
    assert large.startswith(f"no: a row is too large for Kafka at {client.servers}: The message is 2000")
    assert "hint: raise settings={'max.request.size': ...}" in large
    soon = {"max.block.ms": "6000"}  # the client may have old metadata: it refreshes them
    far = get_refusal(spark.sql("select 7 p"), topic=name, partition_column="p", settings=soon)
    assert f"has no such topic or partition: Partition 7 of topic {name} with partition count 1" in far
    assert "cannot take epoch 0: Topic cannot be null" in get_refusal(
        spark.sql("select cast(null as string) t, 1 v"), topic_column="t"
    )
    assert "Invalid topics: [7 8]" in get_refusal(spark.sql("select '7 8' t, 1 v"), topic_column="t")
    wrong = get_refusal(spark.sql("select 1 v"), topic=name, settings={"linger.ms": "soon"})
    assert wrong.startswith(
        "no: invalid settings of Kafka's client: Invalid value soon for configuration linger.ms"
    )


@pytest.fixture
def far(spark: SparkSession, client: Client) -> Iterator[Callable[[DataFrame, str], int]]:
    """Sends a frame as on a cluster, where tasks have no way to the driver's producer.

    It returns how many it sent.
    """
    writers: list[KafkaWriter] = []

    def send(frame: DataFrame, name: str) -> int:
        writer = connect.kafka(servers=client.servers, topic=name).writer()
        assert isinstance(writer, KafkaWriter)
        writers.append(writer)
        writer.open(run(name))
        fields = fields_of(frame.schema.jsonValue())
        made = records.expressions(
            connect.kafka(servers="s:1", topic=name, key="k", headers=["h"]), fields, where="far"
        )
        writer._producer.beginTransaction()
        outlet = spark._jvm.org.apache.spark.sql.headrace.kafka.FrameSender  # type: ignore[union-attr]
        try:
            sent = int(outlet.send(frame.selectExpr(*made)._jdf, writer._sender, False))
        except Exception:
            writer._producer.abortTransaction()
            raise
        writer._producer.commitTransaction()
        return sent

    yield send
    for writer in writers:
        writer.close()


def test_records_of_tasks_elsewhere_are_sent_by_the_driver(
    spark: SparkSession, client: Client, topic: Topic, far: Callable[[DataFrame, str], int]
) -> None:
    name = topic(partitions=2)
    value = rows(spark, ("a", 1, "x"), (None, 2, None), schema="k string, v int, h string")
    assert far(value, name) == 2
    actual = sorted(held(client, name), key=lambda record: str(record.value))
    assert [(r.key, r.value, r.headers) for r in actual] == [
        ("a", '{"k":"a","v":1}', {"h": "x"}),
        (None, '{"k":null,"v":2}', {"h": None}),
    ]


def test_an_epoch_may_be_larger_than_what_tasks_may_return(
    spark: SparkSession, client: Client, topic: Topic, far: Callable[[DataFrame, str], int]
) -> None:
    """Records wait on the executors in pieces.

    With all of them in the tasks' results this fails at Spark's limit.
    """
    name = topic(partitions=2)
    count = 12_000  # of 1 KB: two pieces in each of two tasks
    value = spark.range(0, count, 1, 2).selectExpr("string(id) as k", "repeat('v', 1000) as v", "'' as h")
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "1m")
    try:
        assert far(value, name) == count
        with pytest.raises(Exception, match="for far tasks only"):
            far(
                value.selectExpr("if(k = '11999', raise_error('for far tasks only'), k) as k", "v", "h"), name
            )
    finally:
        conf.remove("spark.driver.maxResultSize")
    parcels = spark._jvm.org.apache.spark.sql.headrace.kafka.BlockTransfer  # type: ignore[union-attr]

    def empty() -> bool:
        parcels.end(parcels.begin())  # another epoch, which has no rows
        return bool(parcels.waiting() == 0)

    wait_until(empty)  # nothing stays of what was sent, nor of what tasks left when one of them failed
    assert sorted(int(record.key or -1) for record in held(client, name)) == list(range(count))


def test_an_epoch_that_comes_again_is_not_written_again_and_another_checkpoint_starts_anew(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic()
    sink = connect.kafka(servers=client.servers, topic=name, format="text")
    for epoch, line in ((0, "a"), (1, "b"), (1, "b"), (0, "a")):
        deliver(sink, run("again"), epoch, rows(spark, (line,), schema="line string"))
    assert contents(client, name) == ["a", "b"]
    deliver(sink, run("again", checkpoint_id="l2"), 0, rows(spark, ("c",), schema="line string"))
    assert contents(client, name) == ["a", "b", "c"]
    writer = sink.writer()
    assert writer.open(run("again")) == 1
    assert writer.stage(2, rows(spark, schema="line string")).rows == 0
    writer.commit(2, writer.stage(2, rows(spark, ("d",), schema="line string")))  # staged twice, written once
    writer.commit(2, writer.stage(2, rows(spark, ("d",), schema="line string")))
    writer.close()
    assert contents(client, name) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("step", STEPS)
def test_a_writer_that_dies_after_any_step_leaves_the_epoch_once(
    step: str, spark: SparkSession, client: Client, topic: Topic
) -> None:
    """The writer is left as a killed process would leave it: its transaction open, nothing closed."""
    name = topic(partitions=2)
    sink = connect.kafka(servers=client.servers, topic=name, format="text")
    frame = rows(spark, ("a",), ("b",), schema="line string")
    left = sink.writer()

    def attempt() -> None:
        left.open(run(step))
        left.commit(0, left.stage(0, frame))

    with failpoints.arm(step), pytest.raises(failpoints.Crash):
        attempt()
    if step == "kafka.committed":
        assert contents(client, name) == ["a", "b"]
    else:
        assert list(client.consume(name)) == []
    deliver(sink, run(step), 0, frame)
    assert contents(client, name) == ["a", "b"]
    left.close()


def test_a_run_that_was_thought_dead_is_fenced_whether_it_stages_or_commits(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic()
    sink = connect.kafka(servers=client.servers, topic=name, format="text")
    frame = rows(spark, ("zombie",), schema="line string")
    zombies = sink.writer(), sink.writer()
    zombies[0].open(run("fence"))
    staged = zombies[0].stage(0, frame)
    zombies[1].open(run("fence"))
    deliver(sink, run("fence"), 0, rows(spark, ("new",), schema="line string"))
    with pytest.raises(
        FencedError, match=r"fence: Kafka at .* cannot commit epoch 0: a newer run has taken over"
    ):
        zombies[0].commit(0, staged)
    with pytest.raises(
        FencedError, match=r"a newer run has taken over\n  hint: two runs of one pipeline write here"
    ):
        zombies[1].commit(0, zombies[1].stage(0, frame))
    for zombie in zombies:
        zombie.close()
    assert contents(client, name) == ["new"]


def test_an_epoch_behind_an_open_transaction_of_another_pipeline_is_not_written_again(
    spark: SparkSession, client: Client, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ledgers are in one topic, and a reader of committed records stops at the first open transaction."""
    name = topic()
    killed = KafkaWriter(connect.kafka(servers=client.servers, topic=topic(), format="text"))
    killed.open(run("killed"))
    staged = killed.stage(0, rows(spark, ("other",), schema="line string"))
    with failpoints.arm("kafka.ledger"), pytest.raises(failpoints.Crash):
        killed.commit(0, staged)
    killed._producer.flush()
    sink = connect.kafka(servers=client.servers, topic=name, format="text")
    deliver(sink, run("behind"), 0, rows(spark, ("a",), schema="line string"))
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: killed._abort())
    monkeypatch.setattr(ledger, "time", clock)
    deliver(sink, run("behind"), 0, rows(spark, ("a",), schema="line string"))
    killed.close()
    assert contents(client, name) == ["a"]


def test_a_topic_is_created_if_requested_and_missed_if_not(spark: SparkSession, client: Client) -> None:
    missing = connect.kafka(servers=client.servers, topic="not-there")
    with pytest.raises(
        DeliveryError, match=r"out: unknown topic `not-there`\n  hint: .*; partitions=4 creates it"
    ):
        missing.writer().open(run())
    made = connect.kafka(
        servers=client.servers, topic="made", partitions=3, topic_settings={"retention.ms": 60000}
    )
    writer = made.writer()
    writer.open(run("made"))
    writer.close()
    for options, message in (
        ({"key": "kk"}, r"made: unknown column `kk`\n  hint: did you mean `k`\?"),
        ({"format": "text"}, r"made: text takes one column of type string, got `k string, v integer`"),
    ):
        wrong = connect.kafka(servers=client.servers, topic="made", **options).writer()
        wrong.open(run("made"))
        with pytest.raises(DeliveryError, match=message):
            wrong.stage(0, rows(spark, ("a", 1)))
        wrong.close()
    assert len(client.require("made")) == 3
    away = connect.kafka(servers="127.0.0.1:1", topic="t", timeout="1 second")
    with pytest.raises(DeliveryError, match=r"out: no Kafka server answers at 127\.0\.0\.1:1"):
        away.writer().open(run())


def test_a_refused_login_is_reported(broker: kafka_server.Cluster, topic: Topic, spark: SparkSession) -> None:
    servers = f"127.0.0.1:{broker.brokers[0].login_port}"
    out = connect.kafka(servers=servers, topic=topic(), sasl={"user": "reader", "password": "wrong"})
    with pytest.raises(DeliveryError, match=r"out: Kafka at .* refuses the login: .*\n  hint: check sasl: "):
        out.writer().open(run())


def test_a_retracted_pane_can_be_a_tombstone(spark: SparkSession, client: Client, topic: Topic) -> None:
    name = topic()
    frame = spark.sql(
        "select 'a' as k, 1 as n, named_struct('index', 0, 'retraction', true) as pane"
        " union all select 'b', 2, named_struct('index', 0, 'retraction', false)"
    )
    sink = connect.kafka(servers=client.servers, topic=name, key="k", value="n", retractions="tombstones")
    deliver(sink, run("tomb"), 0, frame)
    assert {(r.key, r.value) for r in held(client, name)} == {("a", None), ("b", '{"n":2}')}


def test_a_table_is_written_as_upserts_and_tombstones(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    """The net effect of an epoch: a row that was added and removed again is not written."""
    name = topic()
    changes = spark.sql(
        "select * from values ('a', 1, 'update_before'), ('a', 2, 'update_after'), ('b', 3, 'delete'),"
        " ('c', 4, 'insert'), ('d', 5, 'insert'), ('d', 5, 'delete') as t(k, n, change)"
    ).withColumn("__change", F.col("change"))
    sink = connect.kafka(servers=client.servers, topic=name, key="k")
    deliver(sink, run("table"), 0, for_sink(changes, ["k"], "changes"))
    expected = {("a", '{"k":"a","n":2}'), ("b", None), ("c", '{"k":"c","n":4}')}
    assert {(record.key, record.value) for record in held(client, name)} == expected
