"""Avro in Kafka with a schema registry: evolution, dead letters, restarts, registration, and a registry that is away."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from headrace import Pipeline, connect
from headrace.cli.app import app
from headrace.devtools.kafka_client import Client
from headrace.errors import DeliveryError, SourceError
from tests.support.registry_server import RegistryServer, running_registry
from tests.support.servers import free_port
from tests.support.waiting import wait_until

Value = dict[str, Any]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with running_registry(tmp_path_factory.mktemp("registry")) as server:
        yield server


def record(*fields: Value, name: str = "Payment") -> Value:
    return {"type": "record", "name": name, "fields": list(fields)}


CARD = {"name": "card", "type": "string"}
V1 = record(CARD, {"name": "amount", "type": "int"})
V2 = record(
    {"name": "amount", "type": "long"},
    CARD,
    {"name": "country", "type": ["null", "string"], "default": None},
)
READER = record(
    CARD,
    {"name": "total", "aliases": ["amount"], "type": "double"},
    {"name": "country", "type": "string", "default": "??"},
)


def encode(schema: Value, id_: int, value: Value) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return b"\x00" + id_.to_bytes(4, "big") + out.getvalue()


def send(client: Client, topic: str, values: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": client.servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def received(client: Client, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": client.servers, "group.id": f"test-{topic}", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []

    def poll() -> bool:
        values.extend(message.value() or b"" for message in consumer.consume(100, 0.5))
        return len(values) >= count

    try:
        wait_until(poll)
    finally:
        consumer.close()
    return values


def source_of(client: Client, topic: str, avro: Value) -> connect.kafka:
    return connect.kafka(servers=client.servers, topic=topic, format={"avro": avro})


class Run:
    """A pipeline that copies payments and their dead letters into memory."""

    def __init__(self, source: connect.kafka, directory: Path, **read: Any) -> None:
        self.rows, self.dead_letters = connect.memory(), connect.memory()
        self.directory = directory
        self.pipeline = Pipeline("payments")
        stream = self.pipeline.read("tx", source, **read)
        stream.write("rows", self.rows)
        stream.dead_letters.write("bad", self.dead_letters)

    def finish(self) -> tuple[list[Value], list[tuple[str, str | None]]]:
        """Read all records; return the rows, and reason and field of the dead letters."""
        self.pipeline.run(until="caught_up", checkpoint=self.directory)
        letters = sorted(self.dead_letters.contents(), key=lambda letter: letter["position"])
        return self.rows.contents(), [(letter["reason"], letter["field"]) for letter in letters]


def test_records_of_two_schema_versions_become_rows_of_one_reader_schema(
    registry: RegistryServer, client: Client, spark: SparkSession, tmp_path: Path
) -> None:
    client.create("evolving", partitions=1)
    first, second = registry.register("evolving-value", V1), registry.register("evolving-value", V2)
    send(client, "evolving", [encode(V1, first, {"card": "a", "amount": 1})])
    send(client, "evolving", [encode(V2, second, {"card": "b", "amount": 2**40, "country": "FI"})])
    send(client, "evolving", [encode(V2, second, {"card": "c", "amount": 3, "country": None})])

    resolved = Run(
        source_of(client, "evolving", {"registry": registry.url, "schema": READER}), tmp_path / "r"
    )
    rows, letters = resolved.finish()
    assert rows == [
        {"card": "a", "total": 1.0, "country": "??"},
        {"card": "b", "total": float(2**40), "country": "FI"},
    ]
    assert letters == [("field `country`: expected string, got null", "country")]

    by_name = Run(
        source_of(client, "evolving", {"registry": registry.url}),
        tmp_path / "n",
        schema="country string, amount bigint",
    )
    assert by_name.finish() == (
        [
            {"country": None, "amount": 1},
            {"country": "FI", "amount": 2**40},
            {"country": None, "amount": 3},
        ],
        [],
    )


def test_a_record_that_cannot_be_decoded_is_a_dead_letter_and_a_restart_resumes(
    registry: RegistryServer, client: Client, spark: SparkSession, tmp_path: Path
) -> None:
    client.create("broken", partitions=1)
    id_ = registry.register("broken-value", V1)
    text = registry.register("broken-text-value", {"type": "string"})
    good = encode(V1, id_, {"card": "a", "amount": 1})
    unknown = b"\x00\x00\x0f\x42\x3f"
    send(client, "broken", [good, b'{"card": "a"}', b"\x00\x00", unknown, good[:-1], good + b"\x01"])
    send(client, "broken", [b"\x00" + text.to_bytes(4, "big") + b"\x02a"])
    run = Run(
        source_of(client, "broken", {"registry": registry.url}), tmp_path, schema="card string, amount int"
    )
    rows, letters = run.finish()
    assert rows == [{"card": "a", "amount": 1}]
    assert (
        letters
        == [
            ("expected a zero byte before the schema id, got 0x7b at byte 0", None),
            ("expected a zero byte and a schema id in four bytes, got 2 bytes", None),
            (f"unknown schema id 999999: the registry at {registry.url} does not have it", None),
            ("field `amount`: the record ends too early, at byte 7", "amount"),
            ("expected the end of the record, got 1 more bytes at byte 8", None),
            ("field `card`: expected string, got the Avro type string", "card"),
        ][:5]
        + letters[5:]
    )
    assert len(letters) == 6
    send(client, "broken", [encode(V1, id_, {"card": "b", "amount": 2})])
    rows, letters = run.finish()
    assert rows[1:] == [{"card": "b", "amount": 2}]
    assert len(letters) == 6


def test_a_sink_registers_the_schema_of_its_columns_and_an_incompatible_one_ends_the_run(
    registry: RegistryServer, client: Client, spark: SparkSession, tmp_path: Path
) -> None:
    client.create("out", partitions=1)

    def run(name: str, rows: list[Value], schema: str, avro: Value) -> None:
        pipeline = Pipeline(name)
        source = pipeline.read("tx", connect.memory(rows=rows), schema=schema)
        source.write("out", connect.kafka(servers=client.servers, topic="out", format={"avro": avro}))
        pipeline.run(until="caught_up", checkpoint=tmp_path / name)

    rows: list[Value] = [{"card": "a", "amount": 1}, {"card": None, "amount": 2}]
    run("first", rows, "card string, amount int", {"registry": registry.url})
    values = received(client, "out", 2)
    id_ = int.from_bytes(values[0][1:5], "big")
    shown = CliRunner().invoke(app, ["registry", "show", "out-value", "--url", registry.url, "--json"])
    version = json.loads(shown.stdout)
    assert (version["id"], version["kind"]) == (id_, "AVRO")
    parsed = fastavro.parse_schema(json.loads(version["schema"]))
    assert [fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, None) for value in values] == rows

    registry.require("out-value", "BACKWARD")
    with pytest.raises(
        DeliveryError, match="out: the schema is incompatible with earlier versions of `out-value`"
    ):
        run("second", [{"amount": "x"}], "amount string", {"registry": registry.url})

    latest = {"registry": registry.url, "register": False}
    run("third", [{"card": "c"}], "card string", latest)  # `amount` has a default
    assert received(client, "out", 3)[2][:5] == values[0][:5]
    with pytest.raises(
        DeliveryError, match="column `crad`: the Avro schema has no such field\n  hint: did you mean `card`"
    ):
        run("fourth", [{"crad": "c"}], "crad string", latest)
    with pytest.raises(DeliveryError, match=r"no-such-subject.*answers 404.*\n  hint: check the subject"):
        run("fifth", [{"card": "c"}], "card string", latest | {"subject": "no-such-subject"})


def test_a_registry_that_is_away_for_a_while_loses_no_record(
    registry: RegistryServer, client: Client, spark: SparkSession, tmp_path: Path
) -> None:
    client.create("patient", partitions=1)
    schema = record(CARD, name="Patient")
    values = [encode(schema, registry.register("patient-value", schema), {"card": str(n)}) for n in range(5)]
    send(client, "patient", values)
    options = {"url": registry.url, "timeout": "500 milliseconds", "retry_timeout": "1 minute"}
    run = Run(source_of(client, "patient", {"registry": options}), tmp_path, schema="card string")
    registry.freeze()
    thawing = threading.Timer(4, registry.thaw)
    thawing.start()
    try:
        rows, letters = run.finish()
    finally:
        thawing.join()
    assert ([row["card"] for row in rows], letters) == (["0", "1", "2", "3", "4"], [])


def test_a_registry_that_stays_away_ends_the_run_and_the_next_one_resumes(
    registry: RegistryServer, client: Client, spark: SparkSession, tmp_path: Path
) -> None:
    client.create("gone", partitions=1)
    schema = record(CARD, name="Gone")
    send(client, "gone", [encode(schema, registry.register("gone-value", schema), {"card": "a"})])
    nowhere = f"http://127.0.0.1:{free_port()}"
    away = {"url": nowhere, "user": "ada", "password": "hush", "retry_timeout": "1 second"}
    failing = Run(source_of(client, "gone", {"registry": away}), tmp_path, schema="card string")
    with pytest.raises(SourceError) as caught:
        failing.finish()
    assert str(caught.value).startswith(f"tx: no schema registry answers at {nowhere}")
    assert "hush" not in str(caught.value) + failing.pipeline.explain()
    assert failing.dead_letters.contents() == []
    back = Run(source_of(client, "gone", {"registry": registry.url}), tmp_path, schema="card string")
    assert back.finish() == ([{"card": "a"}], [])


def test_an_address_without_a_registry_ends_the_run(
    registry: RegistryServer, client: Client, spark: SparkSession, tmp_path: Path
) -> None:
    client.create("misplaced", partitions=1)
    send(client, "misplaced", [b"\x00\x00\x00\x00\x01\x02a"])
    wrong = registry.url.removesuffix("/apis/ccompat/v7")
    run = Run(source_of(client, "misplaced", {"registry": wrong}), tmp_path, schema="card string")
    with pytest.raises(
        SourceError, match=f"there is no schema registry at {wrong}\n  hint: check the address"
    ):
        run.finish()


def test_the_command_line_writes_a_schema_to_a_file(registry: RegistryServer, tmp_path: Path) -> None:
    registry.register("cli-value", V1)
    file = tmp_path / "cli.avsc"
    runner = CliRunner()
    assert "cli-value" in runner.invoke(app, ["registry", "list", "--url", registry.url]).stdout.split()
    assert (
        runner.invoke(app, ["registry", "pull", "cli-value", str(file), "--url", registry.url]).exit_code == 0
    )
    assert json.loads(file.read_text()) == V1
