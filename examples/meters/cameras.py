"""Simulated cameras: publish the recorded photos to a broker, as fast as it takes them.

`MQTT=mqtt://localhost:1883 python cameras.py`, while the pipeline runs with the same variable.
"""

import json
import os
from base64 import b64decode
from pathlib import Path
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


def publish(url: str, events: Path) -> int:
    """Publish each photo to the topic of its meter with QoS 1; return their number."""
    address = urlsplit(url)
    client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
    client.connect(address.hostname or "localhost", address.port or 1883)
    client.loop_start()
    sent = []
    for line in events.read_text().splitlines():
        photo = json.loads(line)
        taken = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        taken.UserProperty = ("taken", photo["ts"])
        topic, content = f"meters/{photo['meter']}/photo", b64decode(photo["photo"])
        sent.append(client.publish(topic, content, qos=1, properties=taken))
    for message in sent:
        message.wait_for_publish()
    client.disconnect()
    client.loop_stop()
    return len(sent)


if __name__ == "__main__":
    print(publish(os.environ.get("MQTT", "mqtt://localhost:1883"), Path("events.jsonl")), "photos")
