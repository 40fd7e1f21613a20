"""Simulated devices: publish the recorded readings to a broker, as fast as it takes them.

`MQTT=mqtt://localhost:1883 python devices.py`, while the pipeline runs with the same variable.
"""

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion


def publish(url: str, events: Path) -> int:
    """Publish each reading to the topic of its device with QoS 1; return their number."""
    address = urlsplit(url)
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.connect(address.hostname or "localhost", address.port or 1883)
    client.loop_start()
    sent = []
    for line in events.read_text().splitlines():
        reading = json.loads(line)
        topic = reading.pop("topic")
        sent.append(client.publish(topic, json.dumps(reading), qos=1))
    for message in sent:
        message.wait_for_publish()
    client.disconnect()
    client.loop_stop()
    return len(sent)


if __name__ == "__main__":
    print(publish(os.environ.get("MQTT", "mqtt://localhost:1883"), Path("events.jsonl")), "readings")
