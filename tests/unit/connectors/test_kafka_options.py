"""Kafka's options without Spark or a server: accepted values, client settings, and errors."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import Pipeline, connect
from headrace.connectors.base import StagedRows
from headrace.connectors.kafka import properties
from headrace.connectors.kafka.admin import kafka_java
from headrace.connectors.kafka.errors import is_fenced, translate_error
from headrace.connectors.kafka.records import expressions
from headrace.connectors.kafka.subscription import subscription
from headrace.connectors.row_encoding import fields_of
from headrace.errors import DeliveryError, OptionError, PlanError, SetupError
from headrace.steps.endpoints.describe import describe_connector


def kafka(**options: Any) -> connect.kafka:
    return connect.kafka(**{"servers": "h:9092", "topic": "t"} | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": None}, "kafka: expected one of topic, topics, pattern, assign, topic_column"),
        ({"pattern": "a.*"}, "kafka: expected one of topic, topics, pattern, assign, got topic and pattern"),
        ({"topic_column": "to"}, "kafka: expected topic or topic_column, got both"),
        (
            {"start": "begin"},
            "kafka: start: expected earliest, latest, {time: ...} or {offsets: {partition: offset}}",
        ),
        ({"start": {"time": "noon"}}, "kafka: start: expected a time such as 2026-03-01T00:00:00Z"),
        (
            {"start": {"offsets": {"x": 1}}},
            "expected a partition's number and its offset, earliest or latest, got x: 1",
        ),
        ({"metadata": ["kee"]}, "kafka: metadata: unknown metadata `kee`: did you mean `key`"),
        (
            {"metadata": {"key": "a", "topic": "a"}},
            "kafka: metadata: expected a list of fields, or a mapping from fields to different column names",
        ),
        (
            {"topic": None, "assign": {"t": 1}},
            "kafka: assign: expected a list of partitions for `t`, such as [0, 1]",
        ),
        ({"topic": None, "assign": ["t"]}, "kafka: assign: expected topics with lists of partitions"),
        (
            {"settings": {"group.id": "g"}},
            "kafka: settings: `group.id` is set by the connector's own options",
        ),
        ({"settings": "a=b"}, "kafka: settings: expected names with values, such as {client.id: fraud}"),
        (
            {"format": "parquet"},
            "kafka: format: parquet is a format of files: use json, avro, csv, protobuf, text or raw",
        ),
        ({"retractions": "tombstones"}, "kafka: tombstones need a key: set `key`"),
        ({"servers": "h:9092,g"}, "kafka: servers: expected host:port, several with commas, got 'h:9092,g'"),
    ],
)
def test_wrong_options_are_reported(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        kafka(**options)
    assert message in str(caught.value)


def test_options_that_contradict_each_other_are_reported_without_the_password() -> None:
    with pytest.raises(OptionError) as caught:
        kafka(pattern="x", sasl={"user": "u", "password": "geheim"})
    assert "geheim" not in str(caught.value)


def test_a_start_is_the_same_however_it_is_written() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    same = {"time": "2026-03-01T12:00:00Z"}
    for value in (
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
        noon,
        noon.replace(tzinfo=None),
        noon.timestamp(),
    ):
        assert kafka(start={"time": value}).start == same
    assert kafka(start={"offsets": {0: 5, 1: "latest"}}).start == {"offsets": {"0": 5, "1": -1}}


def test_spark_gets_the_start_of_every_partition() -> None:
    value = kafka(start={"offsets": {1: 5}})
    assert json.loads(properties.starting(value, {"t": [0, 1]})["startingOffsets"]) == {
        "t": {"0": -2, "1": 5}
    }
    assert properties.starting(kafka(start="latest"), {}) == {"startingOffsets": "latest"}
    by_time = properties.starting(kafka(start={"time": 1.5}), {})
    assert by_time == {"startingTimestamp": "1500", "startingOffsetsByTimestampStrategy": "latest"}
    with pytest.raises(OptionError, match=r"kafka: start: offsets of several topics need"):
        properties.starting(value, {"t": [0, 1], "u": [0]})


def test_reading_is_for_throughput_and_of_committed_records_by_default() -> None:
    plain = properties.reading(kafka(max_per_batch=10, metadata="headers", settings={"client.id": "me"}))
    assert plain["kafka.max.poll.records"] == "50000"
    assert plain["kafka.isolation.level"] == "read_committed"
    assert (plain["maxOffsetsPerTrigger"], plain["includeHeaders"], plain["kafka.client.id"]) == (
        "10",
        "true",
        "me",
    )
    quick = properties.reading(kafka(fetch="latency", on_data_loss="continue", isolation="uncommitted"))
    assert "kafka.max.poll.records" not in quick
    assert quick["kafka.retry.backoff.ms"] == "10"
    assert (quick["failOnDataLoss"], quick["kafka.isolation.level"]) == ("false", "read_uncommitted")
    assert subscription(kafka(topic=None, assign={"a": [1, 0]})) == {"assign": '{"a": [0, 1]}'}
    assert subscription(kafka(topic=None, topics=["a", "b", "a"])) == {"subscribe": "a,b"}
    every = subscription(kafka(topic=None, pattern=".*"))["subscribePattern"]
    names = ("a", "_headrace_ledger", "_headrace_ledgers")
    assert [name for name in names if re.fullmatch(every, name)] == ["a", "_headrace_ledgers"]


def test_tls_and_login_reach_the_client_and_no_one_else(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(f"{name} in PEM")
    tls = {"ca": str(tmp_path / "ca"), "certificate": str(tmp_path / "cert"), "key": str(tmp_path / "key")}
    sasl = {"user": "me", "password": 'a"b', "mechanism": "SCRAM-SHA-512"}
    secured = kafka(tls=tls | {"key_password": "k", "verify_host": False}, sasl=sasl)
    told_to = properties.client(secured)
    assert told_to["security.protocol"] == "SASL_SSL"
    assert told_to["sasl.jaas.config"].endswith('ScramLoginModule required username="me" password="a\\"b";')
    assert told_to["ssl.truststore.certificates"] == "ca in PEM"
    assert (told_to["ssl.keystore.key"], told_to["ssl.key.password"]) == ("key in PEM", "k")
    assert told_to["ssl.endpoint.identification.algorithm"] == ""
    assert 'a"b' not in repr(secured) + describe_connector(secured)
    assert properties.client(kafka(tls={}))["security.protocol"] == "SSL"
    assert "security.protocol" not in properties.client(kafka())
    with pytest.raises(OptionError, match=r"kafka: tls.ca: /not/there cannot be read: No such file"):
        properties.client(kafka(tls={"ca": "/not/there"}))


def test_metadata_are_columns_of_the_plan() -> None:
    pipeline = Pipeline("p")
    source = kafka(metadata={"timestamp": "sent", "offset": "offset"})
    tx = pipeline.read("tx", source, format="json", schema="v int")
    tx.event_time("sent").select("v", "offset").write("out", connect.memory())
    assert pipeline._plan()
    clash = Pipeline("p")
    clash.read("tx", kafka(metadata=["key"]), format="json", schema="key string").write(
        "out", connect.memory()
    )
    with pytest.raises(PlanError, match="two columns are called `key`"):
        clash.check()


@pytest.mark.parametrize(
    ("sink", "mode", "message"),
    [
        ({"topic_column": "tp", "topic": None}, None, r"unknown topic_column column `tp`"),
        ({"headers": ["x"]}, None, r"unknown headers column `x`"),
    ],
)
def test_a_sink_that_cannot_be_written_is_refused_before_anything_runs(
    sink: dict[str, Any], mode: Any, message: str
) -> None:
    pipeline = Pipeline("p")
    pipeline.read("tx", connect.memory(), schema="to string").write("out", kafka(**sink), mode=mode)
    with pytest.raises(PlanError, match=message):
        pipeline.check()


def test_a_source_names_what_it_reads_and_a_sink_its_topic() -> None:
    pipeline = Pipeline("p")
    with pytest.raises(OptionError, match="`topic_column` is an option of sinks, not of sources"):
        pipeline.read("tx", kafka(topic=None, topic_column="to"), format="text")
    tx = pipeline.read("tx", connect.memory(), schema="to string")
    with pytest.raises(OptionError, match="`topics` is an option of sources, not of sinks"):
        tx.write("out", kafka(topic=None, topics=["a", "b"]))


def test_a_topic_takes_no_complete_results() -> None:
    assert kafka().mode_problem("complete").startswith("a topic cannot be replaced: use mode `update`")
    assert kafka().mode_problem("append") == kafka().mode_problem("update") == ""


def test_columns_become_bytes_by_their_type() -> None:
    kinds = (("a", "string"), ("b", "binary"), ("at", "timestamp"))
    fields = fields_of({"fields": [{"name": name, "type": kind} for name, kind in kinds]})
    made = expressions(kafka(key="at", headers=["b"]), fields, where="out")
    assert made[0] == "'t'"
    assert made[2].startswith("cast(date_format(`at`, 'yyyy")
    assert made[4] == "array(struct('b' as key, `b` as value))"
    with pytest.raises(DeliveryError) as caught:
        expressions(kafka(format="raw"), fields, where="out")
    assert caught.value.what == "raw takes one column of type binary, got `a string, b binary, at timestamp`"


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (
            "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment",
            "no Kafka server answers at h:1: Timed out",
        ),
        ("kafka ... SaslAuthenticationException: bad", "Kafka at h:1 refuses the login: bad"),
        (
            "kafka SslAuthenticationException: handshake",
            "TLS with Kafka at h:1 failed: handshake",
        ),
        (
            "kafka UnknownTopicOrPartitionException: x",
            "Kafka at h:1 lost a topic or partition that the pipeline uses",
        ),
        (
            "kafka: Some data may have been lost because",
            "records of Kafka at h:1 were deleted before they were read",
        ),
        ("java.lang.OutOfMemoryError", None),
        ("kafka: something else", None),
    ],
)
def test_errors_of_kafka_get_a_hint(failure: str, message: str | None) -> None:
    problem = translate_error(failure, "h:1")
    assert problem is None if message is None else problem is not None and problem.what.startswith(message)


def test_a_spark_without_the_jars_is_reported() -> None:
    class Missing:
        def __getattr__(self, name: str) -> Any:
            if name == "create":
                raise AttributeError(name)
            return Missing()

    with pytest.raises(
        SetupError, match=r"kafka: the running Spark has no Kafka jars\n  hint: end this Python process"
    ):
        kafka_java(SimpleNamespace(_jvm=Missing()))  # type: ignore[arg-type]


def test_a_sink_that_is_not_open_reports_it() -> None:
    with pytest.raises(DeliveryError, match="kafka: the sink is not open"):
        kafka().writer().commit(0, StagedRows(1))


def test_a_fence_is_recognised_by_the_error_of_the_server() -> None:
    assert is_fenced("org.apache.kafka.common.errors.ProducerFencedException: ...")
    assert not is_fenced("TimeoutException")
