"""MQTT against a real mosquitto: every QoS and retain rule, sessions, restarts, and nothing lost."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from pyspark.sql import SparkSession

from headrace import Pipeline, connect
from headrace.connectors.base import ReadContext, WriteContext
from headrace.connectors.mqtt.receiver import MqttReceiver
from headrace.connectors.mqtt.sink import MqttPublisher
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.devtools import mosquitto
from headrace.devtools.ports import free_ports
from headrace.errors import DeliveryError, SourceError
from headrace.testing import delivery
from tests.support.certificates import create_certificate
from tests.support.receiving import records
from tests.support.waiting import TIMEOUT, wait_until

numbers = itertools.count()
CONTEXT = WriteContext("p", "out", "c", "append", "")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mosquitto.Broker]:
    running = mosquitto.start(tmp_path_factory.mktemp("mosquitto"), port=0)
    yield running
    running.stop()


@pytest.fixture
def room() -> str:
    """A topic of the test's own."""
    return f"room{next(numbers)}"


def publish(broker: mosquitto.Broker, topic: str, *payloads: str | bytes, **options: Any) -> None:
    """Publish with a plain client, and wait until the broker has the messages."""
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.connect(mosquitto.HOST, broker.port)
    client.loop_start()
    sent = [client.publish(topic, payload, **{"qos": 1, **options}) for payload in payloads]
    for info in sent:
        info.wait_for_publish(TIMEOUT)
        assert info.is_published()
    client.disconnect()
    client.loop_stop()


@contextmanager
def receiving(
    broker: mosquitto.Broker, place: Path, topics: str, **options: Any
) -> Iterator[tuple[WriteAheadLog, MqttReceiver]]:
    """Run a receiver with the log of a directory, as a source does."""
    source = connect.mqtt(url=broker.url, topics=[topics], **options)
    log = WriteAheadLog(place / "log")
    receiver = MqttReceiver(source, ReadContext("p", place.name, None, None, str(place)))
    receiver.start(log)
    try:
        yield log, receiver
    finally:
        receiver.stop()
        log.close()


def messages(log: WriteAheadLog) -> list[tuple[str, dict[str, Any]]]:
    return [(record.value.decode(), json.loads(record.metadata)) for record in records(log)]


def values(log: WriteAheadLog) -> list[str]:
    return [value for value, _ in messages(log)]


@pytest.mark.parametrize("version", ["3.1.1", "5"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_of_every_qos_are_stored_in_order(
    broker: mosquitto.Broker, tmp_path: Path, room: str, qos: int, version: str
) -> None:
    with receiving(broker, tmp_path, f"{room}/+/t", qos=qos, version=version) as (log, _):
        publish(broker, f"{room}/1/t", "a", "b", "c", qos=qos)
        publish(broker, f"{room}/1/2/t", "elsewhere")
        wait_until(lambda: log.end == 3)
        assert values(log) == ["a", "b", "c"]
        assert {(m["topic"], m["qos"], m["retained"]) for _, m in messages(log)} == {
            (f"{room}/1/t", qos, False)
        }


@pytest.mark.parametrize("subscribed", [0, 1, 2])
def test_qos_of_a_message_is_the_lower_of_publisher_and_subscriber(
    broker: mosquitto.Broker, tmp_path: Path, room: str, subscribed: int
) -> None:
    with receiving(broker, tmp_path, room, qos=subscribed) as (log, _):
        for published in (0, 1, 2):
            publish(broker, room, str(published), qos=published)
            wait_until(lambda: log.end == published + 1)  # noqa: B023 - called at once
        assert [metadata["qos"] for _, metadata in messages(log)] == [min(subscribed, n) for n in (0, 1, 2)]


def test_filter_that_is_refused_after_a_reconnect_ends_the_run(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    with receiving(broker, tmp_path, room) as (log, receiver):
        refusal = SimpleNamespace(value=0x87)
        receiver._confirm_subscription(None, None, 2, [refusal], None)  # as the client calls it
        wait_until(lambda: log.failed)
        with pytest.raises(SourceError, match=f"refuses a subscription: `{room}`"):
            log.plan(0, 1)


def test_changed_qos_applies_to_the_stored_session(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    for qos in (0, 1):
        with receiving(broker, tmp_path, room, qos=qos) as (log, _):
            publish(broker, room, str(qos), qos=1)
            wait_until(lambda: log.end == qos + 1)  # noqa: B023 - called at once
            assert messages(log)[-1][1]["qos"] == qos


def test_qos_0_is_not_stored_while_no_run_is_connected(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    for qos in (0, 1):  # of the subscription
        with receiving(broker, tmp_path / f"{room}-{qos}", room, qos=qos):
            pass
    publish(broker, room, "0", qos=0)
    publish(broker, room, "1", qos=1)
    for qos, expected in ((0, ["end 0"]), (1, ["1", "end 0", "end 1"])):
        with receiving(broker, tmp_path / f"{room}-{qos}", room, qos=qos) as (log, _):
            publish(broker, room, f"end {qos}", qos=1)
            wait_until(lambda: values(log)[-1:] == [f"end {qos}"])  # noqa: B023 - called at once
            assert values(log) == expected


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_session_stores_messages_while_no_run_is_connected(
    broker: mosquitto.Broker, tmp_path: Path, room: str, version: str
) -> None:
    for step, value in enumerate("abc"):
        with receiving(broker, tmp_path, room, version=version) as (log, _):
            wait_until(lambda: log.end == step)  # noqa: B023 - called at once
        publish(broker, room, value)
    with receiving(broker, tmp_path, room, version=version) as (log, _):
        wait_until(lambda: log.end == 3)
        assert values(log) == ["a", "b", "c"]


def test_clean_session_begins_with_new_messages(broker: mosquitto.Broker, tmp_path: Path, room: str) -> None:
    with receiving(broker, tmp_path, room, session="clean"):
        pass
    publish(broker, room, "missed")
    with receiving(broker, tmp_path, room, session="clean") as (log, _):
        publish(broker, room, "new")
        wait_until(lambda: log.end == 1)
        assert values(log) == ["new"]


def test_retained_message_is_marked_and_sent_once_per_subscription(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    publish(broker, room, "first", "last", retain=True)
    with receiving(broker, tmp_path, room) as (log, _):
        wait_until(lambda: log.end == 1)
        publish(broker, room, "live", retain=True)
        wait_until(lambda: log.end == 2)
    with receiving(broker, tmp_path, room) as (log, _):  # the session has the subscription
        publish(broker, room, "end")
        wait_until(lambda: log.end == 3)
        expected = [("last", True), ("live", False), ("end", False)]
        assert [(value, metadata["retained"]) for value, metadata in messages(log)] == expected


def test_retained_message_is_replaced_by_a_retained_one_only_and_removed_by_an_empty_one(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    publish(broker, room, "kept", retain=True)
    publish(broker, room, "live")
    with receiving(broker, tmp_path / f"{room}-a", room) as (log, _):
        wait_until(lambda: log.end == 1)
        publish(broker, room, b"", retain=True)
        wait_until(lambda: log.end == 2)
        assert [(value, m["retained"]) for value, m in messages(log)] == [("kept", True), ("", False)]
    with receiving(broker, tmp_path / f"{room}-b", room) as (log, _):
        publish(broker, room, "end")
        wait_until(lambda: log.end == 1)
        assert values(log) == ["end"]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_retained_message_has_the_lower_qos(
    broker: mosquitto.Broker, tmp_path: Path, room: str, qos: int
) -> None:
    publish(broker, room, "kept", retain=True, qos=1)
    with receiving(broker, tmp_path / f"{room}-a", room, qos=qos) as (log, _):
        wait_until(lambda: log.end == 1)
        assert messages(log)[0][1]["qos"] == min(qos, 1)


def test_retained_message_is_marked_for_a_shared_subscription_too(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    """MQTT 5 forbids to send it; mosquitto 2.0.11 does so."""
    publish(broker, room, "kept", retain=True)
    with receiving(broker, tmp_path / f"{room}-a", f"$share/jobs/{room}") as (log, _):
        publish(broker, room, "end")
        wait_until(lambda: values(log)[-1:] == ["end"])
        assert [value for value, metadata in messages(log) if not metadata["retained"]] == ["end"]


@pytest.mark.parametrize(("qos", "retain"), [(0, True), (1, True), (2, True), (1, False)])
def test_sink_publishes_with_its_qos_and_retain(
    broker: mosquitto.Broker, tmp_path: Path, room: str, qos: int, retain: bool
) -> None:
    sink = connect.mqtt(url=broker.url, topic=room, qos=qos, retain=retain)
    publisher = MqttPublisher(sink, CONTEXT)
    publisher.open()
    with receiving(broker, tmp_path / f"{room}-a", room, qos=2) as (log, _):
        publisher.publish([(room, b"a", [])], 0)
        wait_until(lambda: log.end == 1)
        assert (messages(log)[0][1]["qos"], messages(log)[0][1]["retained"]) == (qos, False)
    publisher.close()
    with receiving(broker, tmp_path / f"{room}-b", room, qos=2) as (log, _):
        publish(broker, room, "end", qos=2)
        wait_until(lambda: values(log)[-1:] == ["end"])
        assert values(log) == (["a", "end"] if retain else ["end"])


@pytest.mark.parametrize("version", ["3.1.1", "5"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_sink_sends_more_messages_than_the_broker_accepts_at_once(
    broker: mosquitto.Broker, tmp_path: Path, room: str, qos: int, version: str
) -> None:
    sent = [str(number) for number in range(200)]
    sink = connect.mqtt(url=broker.url, topic=room, qos=qos, version=version)
    publisher = MqttPublisher(sink, CONTEXT)
    publisher.open()
    with receiving(broker, tmp_path, room, qos=2) as (log, _):
        publisher.publish([(room, value.encode(), []) for value in sent], 0)
        wait_until(lambda: log.end == len(sent))
        assert values(log) == sent
    publisher.close()


@pytest.mark.parametrize("level", ["ä", " ", "€🌍", "a" * 2000, "$x", "'\"{}\\"])
def test_unusual_topics_are_received(broker: mosquitto.Broker, tmp_path: Path, room: str, level: str) -> None:
    with receiving(broker, tmp_path, f"{room}/#") as (log, _):
        publish(broker, f"{room}/{level}", "a")
        publish(broker, f"{room}//", "b")  # empty levels
        wait_until(lambda: log.end == 2)
        assert [metadata["topic"] for _, metadata in messages(log)] == [f"{room}/{level}", f"{room}//"]


def test_filter_that_is_no_longer_read_is_unsubscribed(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    with receiving(broker, tmp_path, f"{room}/old"):
        pass
    with receiving(broker, tmp_path, f"{room}/new"):
        pass
    publish(broker, f"{room}/old", "old")
    publish(broker, f"{room}/new", "new")
    with receiving(broker, tmp_path, f"{room}/new") as (log, _):
        wait_until(lambda: log.end == 1)
        assert values(log) == ["new"]


def test_members_of_a_shared_subscription_divide_the_messages(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    shared = f"$share/jobs/{room}/#"
    with (
        receiving(broker, tmp_path / "a", shared) as (first, _),
        receiving(broker, tmp_path / "b", shared) as (second, _),
    ):
        publish(broker, f"{room}/x", *(str(number) for number in range(20)))
        wait_until(lambda: first.end + second.end == 20)
        assert first.end
        assert second.end
        assert sorted(map(int, values(first) + values(second))) == list(range(20))


def test_user_properties_and_content_type_are_metadata(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    properties.UserProperty = [("unit", "C"), ("site", "north")]
    properties.ContentType = "text/plain"
    with receiving(broker, tmp_path, room) as (log, _):
        publish(broker, room, "21", properties=properties)
        wait_until(lambda: log.end == 1)
        ((_, metadata),) = messages(log)
        assert metadata["user_properties"] == {"unit": "C", "site": "north"}
        assert metadata["content_type"] == "text/plain"


class StalledLog(WriteAheadLog):
    """A log whose disk never answers: what it receives is not durable when the process dies."""

    def submit(self, messages: Any, done: Callable[[], None], *, timeout: float | None = None) -> bool:
        self.arrived.append(messages[0].value)
        return True

    @property
    def arrived(self) -> list[bytes]:
        return self.__dict__.setdefault("_arrived", [])  # type: ignore[no-any-return]


@pytest.mark.parametrize("qos", [1, 2])
def test_message_that_was_not_durable_is_delivered_again(
    broker: mosquitto.Broker, tmp_path: Path, room: str, qos: int
) -> None:
    source = connect.mqtt(url=broker.url, topics=[room], qos=qos)
    stalled = StalledLog(tmp_path / "stalled")
    receiver = MqttReceiver(source, ReadContext("p", tmp_path.name, None, None, str(tmp_path)))
    receiver.start(stalled)
    publish(broker, room, "a", "b", qos=qos)
    wait_until(lambda: len(stalled.arrived) == 2)
    receiver.stop()
    stalled.close()
    with receiving(broker, tmp_path, room, qos=qos) as (log, _):
        wait_until(lambda: log.end == 2)
        assert values(log) == ["a", "b"]
        assert all(metadata["duplicate"] for _, metadata in messages(log))


def test_qos_2_message_is_stored_once_though_its_acknowledgement_is_lost(
    broker: mosquitto.Broker, tmp_path: Path, room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lost:
        lost.setattr("headrace.connectors.mqtt.client.DurableClient.acknowledge", lambda *_: None)
        with receiving(broker, tmp_path, room, qos=2) as (log, _):
            publish(broker, room, "a", qos=2)
            wait_until(lambda: log.end == 1)
    with receiving(broker, tmp_path, room, qos=2) as (log, _):
        publish(broker, room, "b", qos=2)
        wait_until(lambda: log.end == 2)
        assert values(log) == ["a", "b"]
        assert log.counters.duplicates == 1


def test_broker_that_is_killed_or_restarted_loses_no_message(tmp_path: Path, room: str) -> None:
    """A killed mosquitto loses what it has not saved, so the kill comes after the log has the messages."""
    broker = mosquitto.start(tmp_path / "broker", port=0)
    expected: set[str] = set()
    try:
        with receiving(broker, tmp_path, room, qos=1) as (log, _):
            for number in range(4):
                expected |= {f"{number}a", f"{number}b"}
                publish(broker, room, f"{number}a", f"{number}b")
                if number % 2:
                    broker.stop()
                else:
                    wait_until(lambda: set(values(log)) == expected)  # noqa: B023 - called at once
                    broker.kill()
                broker.start()
            wait_until(lambda: set(values(log)) == expected)
    finally:
        broker.stop()


def test_payloads_of_any_kind_are_stored_or_become_dead_letters(
    spark: SparkSession, broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    bad = [b"\xff\xfe", b"", b"[" * 5000, b'{"n": "text"}', b"." * 200_000, b'{"n": 1']
    pipeline = Pipeline("fuzzed")
    source = connect.mqtt(url=broker.url, topics=[f"{room}/#"], metadata={"topic": "sent_to", "qos": "qos"})
    rows = pipeline.read("rows", source, format="json", schema="n int")
    out, letters = connect.memory(), connect.memory()
    rows.write("out", out)
    rows.dead_letters.write("letters", letters)
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    publish(broker, f"{room}/a", b'{"n": 1}', *bad, b'{"n": 2}')
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    expected = [{"n": n, "sent_to": f"{room}/a", "qos": 1} for n in (1, 2)]
    assert out.contents() == expected
    assert sorted(row["raw"] for row in letters.contents()) == sorted(bad)


@pytest.mark.proof
def test_every_row_is_read_although_runs_and_the_broker_are_killed(tmp_path: Path) -> None:
    broker = mosquitto.start(tmp_path / "broker", port=0)

    def feed(trial: str) -> delivery.Feed:
        topic = trial.replace(" ", "-")
        source = connect.mqtt(url=broker.url, topics=[topic], client_id=topic)
        with receiving(broker, tmp_path / topic, topic, client_id=topic):
            pass  # the session begins before the first message

        def add(ids: Any) -> None:
            publish(broker, topic, *(json.dumps({"id": number}) for number in ids))

        return delivery.Feed(source, add, format="json")

    def restart(_: delivery.Feed) -> None:
        broker.kill()
        broker.start()

    try:
        report = delivery.check_source(feed, disturbances={"the broker is killed": restart})
    finally:
        broker.stop()
    assert report.lost == 0, str(report)


def test_rows_are_published_to_computed_topics_and_retained(
    spark: SparkSession, broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    pipeline = Pipeline("alarms")
    rows = [{"room": "1", "site": "n", "t": 40}, {"room": "2", "site": "s", "t": 50}]
    source = pipeline.read("rows", connect.memory(rows=rows), schema="room string, site string, t int")
    topic = f"{room}/{{room}}/alarm"
    sink = connect.mqtt(url=broker.url, topic=topic, qos=2, retain=True, user_properties=["site"])
    source.write("out", sink)
    pipeline.run(until="caught_up", checkpoint=tmp_path / "checkpoint")
    with receiving(broker, tmp_path, f"{room}/#", qos=2) as (log, _):
        wait_until(lambda: log.end == 2)
        received = sorted(messages(log), key=lambda message: message[1]["topic"])
        assert [json.loads(value) for value, _ in received] == [{"t": 40}, {"t": 50}]
        assert [metadata["topic"] for _, metadata in received] == [f"{room}/1/alarm", f"{room}/2/alarm"]
        assert [metadata["user_properties"] for _, metadata in received] == [{"site": "n"}, {"site": "s"}]
        assert all(metadata["retained"] and metadata["qos"] == 2 for _, metadata in received)


def test_sink_sends_again_after_the_broker_was_killed(tmp_path: Path, room: str) -> None:
    broker = mosquitto.start(tmp_path / "broker", port=0)
    publisher = MqttPublisher(connect.mqtt(url=broker.url, topic=room), CONTEXT)
    try:
        with receiving(broker, tmp_path, room) as (log, _):
            publisher.open()
            publisher.publish([(room, b"a", [])], 0)
            broker.kill()
            restart = threading.Timer(0.5, broker.start)
            restart.start()
            publisher.publish([(room, b"b", [])], 1)
            restart.join()
            wait_until(lambda: {"a", "b"} <= set(values(log)))
    finally:
        publisher.close()
        broker.stop()


def test_topic_with_a_wildcard_from_a_row_is_an_error(broker: mosquitto.Broker) -> None:
    publisher = MqttPublisher(connect.mqtt(url=broker.url, topic="room/{n}"), CONTEXT)
    publisher.open()
    with pytest.raises(DeliveryError, match=r"out: the topic `room/#` has a wildcard(.|\n)*`room/\{n\}`"):
        publisher.publish([("room/#", b"a", [])], 0)
    publisher.close()


def test_missing_broker_is_reported_with_its_address(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    source = connect.mqtt(url=f"mqtt://127.0.0.1:{port}", topics=["a"])
    context = ReadContext("p", "tx", None, None, str(tmp_path))
    log = WriteAheadLog(tmp_path / "log")
    message = (
        rf"no MQTT broker answers at mqtt://127\.0\.0\.1:{port}: Connection refused(.|\n)*mqtt up --port"
    )
    with pytest.raises(SourceError, match=message):
        MqttReceiver(source, context).start(log)
    log.close()


def test_login_and_tls(tmp_path: Path, room: str) -> None:
    passwords, (certificate, key) = tmp_path / "passwords", create_certificate(tmp_path)
    subprocess.run(["mosquitto_passwd", "-b", "-c", passwords, "reader", "right"], check=True)
    broker = mosquitto.start(
        tmp_path / "broker", port=0, password_file=passwords, certificate=(certificate, key)
    )
    url = f"mqtts://reader:right@127.0.0.1:{broker.tls_port}"
    try:
        publisher = MqttPublisher(connect.mqtt(url=url, topic=room, tls={"ca": str(certificate)}), CONTEXT)
        publisher.open()
        publisher.publish([(room, b"a", [])], 0)
        publisher.close()
        login = connect.mqtt(url=broker.url, topic=room, user="reader", password="wrong")
        wrong = MqttPublisher(login, CONTEXT)
        with pytest.raises(DeliveryError, match=r"refuses the connection: Not authori(.|\n)*MQTT_PASSWORD"):
            wrong.open()
        unknown = MqttPublisher(connect.mqtt(url=url, topic=room), CONTEXT)
        with pytest.raises(DeliveryError, match=r"no TLS connection to mqtts://127(.|\n)*tls=\{ca: ca.pem\}"):
            unknown.open()
    finally:
        broker.stop()


def test_settle_waits_until_the_queue_of_the_session_has_arrived(
    broker: mosquitto.Broker, tmp_path: Path, room: str
) -> None:
    with receiving(broker, tmp_path, room):
        pass
    publish(broker, room, *(str(number) for number in range(500)))
    with receiving(broker, tmp_path, room) as (log, receiver):
        receiver.settle()
        wait_until(lambda: log.end == 500)
