"""De-noised temperatures of rooms, and anomalies by threshold and by quantile.

`MQTT=mqtt://localhost:1883 python pipeline.py` reads devices, and publishes alarms and the last value of
each room.
"""

import os

from headrace import Pipeline, connect, windows

broker = os.environ.get("MQTT")
building = Pipeline("building-sensors")
if broker:
    devices = connect.mqtt(url=broker, topics=["building/+/temperature"], metadata=["topic"])
    readings = building.read("readings", devices, format="json", schema="celsius double, ts timestamp")
else:
    recording = connect.files(path="events.jsonl")
    readings = building.read("readings", recording, schema="topic string, celsius double, ts timestamp")
minutes = (
    readings.with_columns(room="split(topic, '/')[1]")
    .event_time("ts", out_of_order="10 seconds")
    .key_by("room")
    .window(windows.tumbling("1 minute"))
    .aggregate("minutes", celsius="median(celsius)", upper="percentile(celsius, 0.75)", peak="max(celsius)")
)
anomalies = minutes.where("celsius > 30 or peak > celsius + 2 + 3 * (upper - celsius)").select(
    room="room",
    at="window.start",
    anomaly="if(celsius > 30, 'hot', 'spike')",
    celsius="round(celsius, 3)",
    peak="peak",
    step_name="anomalies",
)
anomalies.write("results", connect.files(path="out", format="json"))
if broker:
    anomalies.write("alarms", connect.mqtt(url=broker, topic="building/{room}/alarm"))
    last = minutes.select(room="room", celsius="round(celsius, 3)", at="window.start", step_name="last")
    last.write("retained", connect.mqtt(url=broker, topic="building/{room}/smoothed", retain=True))
building.run(until="stopped" if broker else "drained")
