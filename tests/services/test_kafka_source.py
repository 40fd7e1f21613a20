"""Reading Kafka: where it starts, what becomes columns, what is a dead letter, what people see of the progress."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, windows
from headrace.connectors.base import ReadContext
from headrace.devtools import kafka_server
from headrace.devtools.kafka_client import Client
from headrace.errors import OptionError, SourceError
from tests.support.topics_held import settle
from tests.support.waiting import wait_until

Topic = Callable[..., str]
CONTEXT = ReadContext("p", "tx", None, None, "")


def read(spark: SparkSession, source: connect.kafka) -> list[tuple[str, int, str]]:
    """All records of a source as a batch: partition, offset, value."""
    reader = source.reader()
    rows = reader.batch(spark, CONTEXT).collect()
    reader.close()
    return sorted((row["partition"], row["offset"], bytes(row["value"]).decode()) for row in rows)


def values(spark: SparkSession, source: connect.kafka) -> list[str]:
    return sorted(value for _, _, value in read(spark, source))


def test_a_source_starts_at_the_earliest_at_offsets_or_at_a_time(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    name = topic("a", "b")
    written = time.time()
    wait_until(lambda: time.time() > written + 0.002)  # times are milliseconds
    middle = time.time()
    client.produce(name, [(None, "c"), (None, "d")])

    def start(place: Any) -> list[str]:
        return values(spark, connect.kafka(servers=client.servers, topic=name, start=place))

    assert start("earliest") == ["a", "b", "c", "d"]
    assert start({"offsets": {0: 3}}) == start({"offsets": {name: {"0": 3}}}) == ["d"]
    assert start({"time": middle}) == ["c", "d"]
    assert start({"time": "2100-01-01T00:00:00Z"}) == []


def test_several_topics_a_pattern_or_chosen_partitions_are_one_source(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    first, second = topic("a", name="many-1"), topic("b", name="many-2")
    topic("c", name="other-many")
    parted = topic(partitions=3)
    for number in range(3):
        client.produce(parted, [(None, f"p{number}")], partition=number)

    def source(**which: Any) -> connect.kafka:
        return connect.kafka(servers=client.servers, **which)

    assert read(spark, source(topics=[first, second])) == [("many-1-0", 0, "a"), ("many-2-0", 0, "b")]
    assert values(spark, source(pattern="many-.*")) == ["a", "b"]
    assert values(spark, source(pattern="many-.", start={"offsets": {second: {0: 1}}})) == ["a"]
    with pytest.raises(OptionError, match="kafka: pattern: invalid Java regular expression: Unclosed"):
        source(pattern="many-(").reader().stream(spark, CONTEXT)
    assert values(spark, source(assign={parted: [0, 2]})) == ["p0", "p2"]
    arguments = {"offsets": {0: 1}}  # the others are filled in
    assert values(spark, source(topic=parted, start=arguments)) == ["p1", "p2"]
    with pytest.raises(
        OptionError,
        match=r"kafka: start: partition 7 of `\w+` is not read\n  hint: partitions that are read: \w+: \[0, "
        r"1, 2\]",
    ):
        source(topic=parted, start={"offsets": {7: 1}}).reader().batch(spark, CONTEXT)


def test_rows_carry_what_was_requested_dead_letters_their_place_and_a_group_the_progress(
    client: Client, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    name = topic(("k1", '{"v": 1}'), ("k2", "broken"), (None, '{"v": 3}'), ("k4", None))
    rows, dead_letters = connect.memory(), connect.memory()
    pipeline = Pipeline("meta")
    source = connect.kafka(
        servers=client.servers,
        topic=name,
        metadata={
            "key": "k",
            "partition": "partition",
            "offset": "offset",
            "timestamp": "at",
            "headers": "headers",
        },
    )
    tx = pipeline.read("tx", source, format="json", schema="v int")
    tx.write("rows", rows)
    tx.dead_letters.write("dead_letters", dead_letters)
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    actual = sorted(rows.contents(), key=lambda row: row["offset"])
    assert [(row["v"], row["k"], row["partition"], row["offset"]) for row in actual] == [
        (1, "k1", 0, 0),
        (3, None, 0, 2),
    ]
    assert all(abs(row["at"].timestamp() - time.time()) < 600 for row in actual)
    places = [(row["partition"], row["position"], row["raw"]) for row in dead_letters.contents()]
    assert sorted(places) == [(f"{name}-0", 1, b"broken"), (f"{name}-0", 3, b"")]
    assert [(item.offset, item.end, item.lag) for item in client.lag("meta.tx")] == [(4, 4, 0)]
    client.produce(name, [(None, "{}")])
    assert [item.lag for item in client.lag("meta.tx")] == [1]  # as in `kafka-consumer-groups --describe`


def test_the_next_run_goes_on_where_the_last_one_stopped_in_epochs_of_the_size_requested(
    client: Client, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    name = topic(*(json.dumps({"v": n}) for n in range(5)))
    sink = connect.memory()
    pipeline = Pipeline("paced")
    source = connect.kafka(servers=client.servers, topic=name, max_per_batch=2, tombstones="skip", group="g")
    pipeline.read("tx", source, format="json", schema="v int", on_error="fail").write("out", sink)
    with pipeline.start(until="caught_up", checkpoint=tmp_path) as running:
        running.wait()
        assert running.status().queries[0].epoch == 2
    client.produce(name, [(None, None), (None, '{"v": 5}')])
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    assert [row["v"] for row in sink.contents()] == [0, 1, 2, 3, 4, 5]
    assert [item.lag for item in client.lag("g")] == [0]


def test_offsets_without_a_record_are_no_loss_and_end_no_epoch(
    client: Client, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    import confluent_kafka

    name = topic()
    producer = confluent_kafka.Producer({"bootstrap.servers": client.servers, "transactional.id": name})
    producer.init_transactions(120)
    for number in range(6):  # each transaction ends with a marker, which has an offset too
        producer.begin_transaction()
        producer.produce(name, json.dumps({"v": number}), partition=0)
        producer.flush(120)
        (producer.abort_transaction if number % 3 == 2 else producer.commit_transaction)(120)
    settle(client, name)
    sink = connect.memory()
    pipeline = Pipeline("gaps")
    source = connect.kafka(servers=client.servers, topic=name, max_per_batch=2)
    pipeline.read("tx", source, format="json", schema="v int").write("out", sink)
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    assert [row["v"] for row in sink.contents()] == [0, 1, 3, 4]


def test_a_server_that_is_away_and_a_topic_that_is_not_there_are_reported_at_once(
    spark: SparkSession, client: Client, topic: Topic
) -> None:
    topic(name="payments")
    away = connect.kafka(servers="127.0.0.1:1", topic="payments", timeout="1 second")
    with pytest.raises(
        SourceError, match=r"tx: no Kafka server answers at 127.0.0.1:1: .*\n  hint: check that it is running"
    ):
        away.reader().stream(spark, CONTEXT)
    wrong = connect.kafka(servers=client.servers, topic="paymnets")
    with pytest.raises(SourceError, match=r"tx: unknown topic `paymnets`\n  hint: did you mean `payments`\?"):
        wrong.reader().stream(spark, CONTEXT)
    absent = connect.kafka(servers=client.servers, assign={"payments": [0, 4]})
    with pytest.raises(
        SourceError, match=r"tx: `payments` has no partition 4\n  hint: its partitions: \[0\]"
    ):
        absent.reader().stream(spark, CONTEXT)
    latest = connect.kafka(servers=client.servers, topic="payments", start="latest")
    with pytest.raises(SourceError, match="tx: a batch that starts at the latest record is empty"):
        latest.reader().batch(spark, CONTEXT)


def test_a_login_is_needed_where_the_server_wants_one_and_a_wrong_one_is_reported(
    spark: SparkSession, client: Client, broker: kafka_server.Cluster, topic: Topic
) -> None:
    name = topic("a")
    servers = f"127.0.0.1:{broker.brokers[0].login_port}"

    def source(password: str) -> connect.kafka:
        return connect.kafka(servers=servers, topic=name, sasl={"user": "reader", "password": password})

    assert values(spark, source("right")) == ["a"]
    with pytest.raises(SourceError, match=r"tx: Kafka at .* refuses the login: .*\n  hint: check sasl: "):
        source("wrong").reader().batch(spark, CONTEXT)


def test_tls_is_talked_to_a_server_whose_certificate_is_trusted(
    spark: SparkSession, client: Client, broker: kafka_server.Cluster, topic: Topic
) -> None:
    name = topic("a")
    servers = f"127.0.0.1:{broker.brokers[0].tls_port}"
    trusting = {"ca": str(broker.directory / "ca.pem")}
    assert values(spark, connect.kafka(servers=servers, topic=name, tls=trusting)) == ["a"]
    with pytest.raises(SourceError, match=r"tx: TLS with Kafka at .* failed: "):
        connect.kafka(servers=servers, topic=name, tls={}).reader().batch(spark, CONTEXT)


def test_records_that_retention_removed_before_they_were_read_stop_the_run_unless_it_may_go_on(
    client: Client, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    name = topic('{"v": 0}', **{"retention.ms": "1"})
    sink = connect.memory()

    def run(**options: Any) -> None:
        pipeline = Pipeline("lossy")
        source = connect.kafka(servers=client.servers, topic=name, start={"offsets": {0: 0}}, **options)
        pipeline.read("tx", source, format="json", schema="v int").write("out", sink)
        pipeline.run(until="caught_up", checkpoint=tmp_path / str(options))

    def is_removed() -> bool:
        client.produce(name, [(None, '{"v": 1}')])
        return client.bounds(name)[0][0] > 0

    wait_until(is_removed)
    with pytest.raises(
        SourceError, match=r'deleted before they were read\n  hint: .*on_data_loss="continue"'
    ):
        run()
    run(on_data_loss="continue")


def test_a_broker_that_goes_and_comes_back_loses_nothing(
    client: Client, broker: kafka_server.Cluster, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    source_topic, sink_topic = topic('{"v": 1}'), topic()
    pipeline = Pipeline("outage")
    source = connect.kafka(servers=client.servers, topic=source_topic)
    sink = connect.kafka(servers=client.servers, topic=sink_topic)
    pipeline.read("tx", source, format="json", schema="v int").write("out", sink)

    def read_arrived() -> list[str | None]:
        return [record.value for record in client.consume(sink_topic)]

    with pipeline.start(checkpoint=tmp_path) as running:
        wait_until(lambda: read_arrived() == ['{"v":1}'], running)
        broker.kill(1)
        kafka_server.restart(broker, 1)
        client.produce(source_topic, [(None, '{"v": 2}')])
        wait_until(lambda: read_arrived() == ['{"v":1}', '{"v":2}'], running)


EVENTS = 300_000
PARTITIONS = 4


def make_skewed_events(client: Client, name: str) -> None:
    """Write events with 5 seconds of disorder.

    Each partition covers the same time with another number of events.
    """
    shares = (0.55, 0.25, 0.15, 0.05)
    for partition, share in enumerate(shares):
        count = int(EVENTS * share)
        times = [
            1_700_000_000 + number * 3600 / count - (number * 7919 % 5000) / 1000 for number in range(count)
        ]
        records = [
            (None, json.dumps({"k": number % 10, "ts": datetime.fromtimestamp(at, UTC).isoformat()}))
            for number, at in enumerate(times)
        ]
        client.produce(name, records, partition=partition)


def test_rows_of_a_slow_partition_are_not_late_and_a_replay_gives_the_rows_of_a_batch(
    client: Client, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    name = topic(partitions=PARTITIONS)
    make_skewed_events(client, name)

    def totals(pipeline: Pipeline) -> Any:
        source = connect.kafka(servers=client.servers, topic=name, max_per_batch=40_000)
        rows = pipeline.read("tx", source, format="json", schema="k int, ts timestamp")
        timed = rows.event_time("ts", out_of_order="20 seconds").key_by("k")
        return timed.window(windows.tumbling("10 seconds")).aggregate("totals", n="count(*)")

    pipeline, result = Pipeline("skewed"), connect.memory()
    totals(pipeline).write("result", result)
    running = pipeline.start(until="drained", checkpoint=tmp_path)
    running.wait()
    assert running.status().late == 0
    assert sum(row["n"] for row in result.contents()) == EVENTS
    batch = totals(Pipeline("batch")).to_dataframe(how="batch").collect()

    def counts(rows: Any) -> set[tuple[int, float, int]]:
        return {(row["k"], row["window"]["start"].timestamp(), row["n"]) for row in rows}

    differences = counts(result.contents()) ^ counts(batch)
    assert sorted(differences)[:5] == []
