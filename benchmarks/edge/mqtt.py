"""MQTT in at QoS 1: the receiver of a source beside a plain paho script.

The broker holds the same messages in one persistent session per run. A run connects, stores all messages,
and ends when they are durable. Both sides write the messages that are waiting, call fdatasync once, and
acknowledge them.
"""

from __future__ import annotations

import json
import os
import queue
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from benchmarks.harness import Measured, compare
from headrace import connect
from headrace.connectors.base import ReadContext
from headrace.connectors.mqtt import Mqtt
from headrace.connectors.mqtt.receiver import MqttReceiver
from headrace.connectors.write_ahead_log.log import WriteAheadLog
from headrace.devtools import mosquitto

TOPIC = "bench/1/temperature"
FILTER = "bench/+/temperature"
WARM_UP = 1
PLAIN, HEADRACE = "paho by hand", "Headrace"
_PUBLISH_BATCH = 10_000


def measure_mqtt(directory: Path, messages: int, runs: int) -> list[Measured]:
    """Receive messages that wait in the sessions of a broker."""
    # Without the limit of 20 unacknowledged messages, which would measure the latency of the disk.
    settings = {"max_inflight_messages": "0", "persistence": "false"}
    broker = mosquitto.start(directory / "broker", port=0, settings=settings)
    sessions = {side: [f"{side}-{run}" for run in range(runs + WARM_UP)] for side in ("plain", "headrace")}
    try:
        for client_id in (*sessions["plain"], *sessions["headrace"]):
            _create_session(broker, client_id)
        publish(broker, messages)
        contenders = {
            PLAIN: lambda: receive_by_hand(broker, sessions["plain"].pop(), directory, messages),
            HEADRACE: lambda: receive_by_headrace(broker, sessions["headrace"].pop(), directory, messages),
        }
        return compare("MQTT in at QoS 1", contenders, rows=messages, runs=runs, warm_up=WARM_UP)
    finally:
        broker.stop()


def publish(broker: mosquitto.Broker, messages: int) -> None:
    """Publish readings at QoS 1."""
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.max_inflight_messages_set(0)  # with a limit, paho searches all messages for each answer
    client.connect(mosquitto.HOST, broker.port)
    client.loop_start()
    for first in range(0, messages, _PUBLISH_BATCH):
        numbers = range(first, min(first + _PUBLISH_BATCH, messages))
        for info in [client.publish(TOPIC, json.dumps({"id": n, "celsius": 21.5}), 1) for n in numbers]:
            info.wait_for_publish()
    client.disconnect()
    client.loop_stop()


def receive_by_hand(broker: mosquitto.Broker, client_id: str, directory: Path, messages: int) -> None:
    """Receive as a user of paho does: store the messages that are waiting, then acknowledge them."""
    waiting: queue.SimpleQueue[paho.MQTTMessage] = queue.SimpleQueue()
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5, manual_ack=True)
    client.on_message = lambda _, __, message: waiting.put(message)
    client.connect(mosquitto.HOST, broker.port, clean_start=False)
    client.loop_start()
    stored = 0
    with (directory / f"{client_id}.log").open("wb", buffering=0) as file:
        while stored < messages:
            group = [waiting.get()]
            with suppress(queue.Empty):
                while True:
                    group.append(waiting.get_nowait())
            file.write(b"".join(message.payload + b"\n" for message in group))
            os.fdatasync(file.fileno())
            for message in group:
                client.ack(message.mid, message.qos)
            stored += len(group)
    client.disconnect()
    client.loop_stop()


def receive_by_headrace(broker: mosquitto.Broker, client_id: str, directory: Path, messages: int) -> None:
    """Receive with the source's receiver and its write-ahead log."""
    place = directory / client_id
    log = WriteAheadLog(place / "log")
    receiver = MqttReceiver(_source(broker, client_id), ReadContext("bench", "rows", None, None, str(place)))
    # The session has the subscription; a new one would be confirmed by the broker first.
    (place / "subscriptions.json").write_text(json.dumps([FILTER]))
    receiver.start(log)
    while log.end < messages:
        time.sleep(0.01)
    receiver.stop()
    log.close()


def _create_session(broker: mosquitto.Broker, client_id: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        log = WriteAheadLog(Path(directory) / "log")
        receiver = MqttReceiver(
            _source(broker, client_id), ReadContext("bench", "rows", None, None, directory)
        )
        receiver.start(log)
        receiver.stop()
        log.close()


def _source(broker: mosquitto.Broker, client_id: str) -> Mqtt:
    return connect.mqtt(url=broker.url, topics=[FILTER], client_id=client_id)
