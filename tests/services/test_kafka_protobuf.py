"""Protobuf through Kafka: a source with dead letters, and a sink whose records Google's library reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from headrace import Pipeline, connect, formats
from headrace.connectors.base import ReadContext
from headrace.connectors.network.schema_registry import SchemaRegistryClient
from headrace.devtools.kafka_client import Client
from headrace.errors import DeliveryError, PlanError
from tests.support.proto_messages import message_class
from tests.support.registry_server import running_registry
from tests.support.topics_held import settle

PAYMENT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Payment { string card = 1; int64 cents = 2; google.protobuf.Timestamp at = 3; }
message Alert { string card = 1; uint32 cents = 2; google.protobuf.Timestamp at = 3; }
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proto") / "payment.proto"
    path.write_text(PAYMENT)
    return path


def send(client: Client, topic: str, records: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": client.servers})
    for record in records:
        producer.produce(topic, record)
    assert producer.flush(30) == 0


def test_messages_are_read_and_written_and_other_records_are_dead_letters(
    spark: SparkSession, client: Client, topic: Callable[..., str], tmp_path: Path, file: Path
) -> None:
    source, target = topic(), topic()
    payment = message_class(file, "shop.Payment")
    payments = [payment(card=f"c{n}", cents=n * 100, at={"seconds": 1772442000 + n}) for n in range(4)]
    send(client, source, [*(each.SerializeToString() for each in payments), b"\x0a\x05ab", b'{"card": "c9"}'])
    document = f"""
    name: proto-alerts
    sources:
      tx:
        kafka: {{servers: "{client.servers}", topic: {source}}}
        format: {{protobuf: {{file: {file}, message: shop.Payment}}}}
    steps:
      large: {{from: tx, where: cents >= 200}}
    sinks:
      out:
        from: large
        kafka:
          servers: "{client.servers}"
          topic: {target}
          key: card
          format: {{protobuf: {{file: {file}, message: shop.Alert}}}}
    """
    pipeline = Pipeline.from_yaml_text(document)
    pipeline.run(until="caught_up", checkpoint=tmp_path)
    settle(client, target)
    reader = connect.kafka(servers=client.servers, topic=target).reader()
    records = reader.batch(spark, ReadContext("p", "tx", None, None, "")).collect()
    alerts = [message_class(file, "shop.Alert").FromString(bytes(row["value"])) for row in records]
    assert sorted((alert.card, alert.cents, alert.at.seconds) for alert in alerts) == [
        ("c2", 200, 1772442002),
        ("c3", 300, 1772442003),
    ]
    dead = spark.read.json(str(tmp_path / "unrouted" / "tx.dead_letters")).collect()
    assert sorted((row["position"], row["reason"]) for row in dead) == [
        (4, "not Protobuf: the record ends too early at byte 4"),
        (5, "not Protobuf: the record ends too early at byte 14"),
    ]


def test_a_sink_registers_its_file_and_a_source_reads_the_records(
    spark: SparkSession, client: Client, topic: Callable[..., str], tmp_path: Path, file: Path
) -> None:
    name = topic()
    with running_registry(tmp_path) as registry:
        alert = formats.Protobuf(file=str(file), message="shop.Alert", registry=registry.url)
        kafka = connect.kafka(servers=client.servers, topic=name, format=alert)
        writing = Pipeline("registered")
        rows = writing.read(
            "rows", connect.memory(rows=[{"card": "a", "cents": 7}]), schema="card string, cents int"
        )
        rows.write("out", kafka)
        writing.run(until="caught_up", checkpoint=tmp_path / "writing")
        version = SchemaRegistryClient(formats.SchemaRegistry(url=registry.url)).version(f"{name}-value")
    assert version.kind == "PROTOBUF"
    settle(client, name)
    reader = connect.kafka(servers=client.servers, topic=name).reader()
    [record] = reader.batch(spark, ReadContext("p", "tx", None, None, "")).collect()
    value = bytes(record["value"])
    assert value[:7] == b"\x00" + version.id.to_bytes(4, "big") + b"\x02\x02"
    assert message_class(file, "shop.Alert").FromString(value[7:]).cents == 7
    reading, result = Pipeline("reading"), connect.memory()
    reading.read("alerts", kafka).write("out", result)
    reading.run(until="caught_up", checkpoint=tmp_path / "reading")
    assert [(row["card"], row["cents"]) for row in result.contents()] == [("a", 7)]


def test_columns_that_do_not_fit_are_a_plan_error_and_values_a_delivery_error(
    spark: SparkSession, client: Client, topic: Callable[..., str], tmp_path: Path, file: Path
) -> None:
    alert = formats.Protobuf(file=str(file), message="shop.Alert")

    def write(select: dict[str, str], name: str) -> None:
        pipeline = Pipeline(name)
        rows = pipeline.read("rows", connect.memory(rows=[{"n": 1}]), schema="n int")
        sink = connect.kafka(servers=client.servers, topic=topic(), format=alert)
        rows.select(**select).write("out", sink)
        pipeline.run(until="caught_up", checkpoint=tmp_path / name)

    with pytest.raises(PlanError, match="column `cents`: expected bigint for the field of type uint32, got"):
        write({"cents": "n * 0.5"}, "types")
    with pytest.raises(DeliveryError, match="out: column `cents`: -1 is out of the range of uint32"):
        write({"cents": "-n"}, "values")
