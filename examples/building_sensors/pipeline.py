"""De-noised temperatures of rooms: hot rooms, spikes, and sensors that are silent.

`MQTT=mqtt://localhost:1883 python pipeline.py` reads devices, and publishes alarms and the last value of
each room.
"""

import os

from headrace import Pipeline, connect, detectors, smoothing

broker = os.environ.get("MQTT")
building = Pipeline("building-sensors")
if broker:
    devices = connect.mqtt(url=broker, topics=["building/+/temperature"], metadata=["topic"])
    readings = building.read("readings", devices, format="json", schema="celsius double, ts timestamp")
else:
    recording = connect.files(path="events.jsonl")
    readings = building.read("readings", recording, schema="topic string, celsius double, ts timestamp")
rooms = readings.with_columns(room="split(topic, '/')[1]").event_time("ts", out_of_order="10 seconds")
smoothed = rooms.key_by("room").smooth("smoothed", smoothing.median(rows=5), on="celsius")
heat = smoothed.key_by("room").detect(
    "heat", detectors.threshold(high=30, duration="30 seconds"), on="celsius_smooth"
)
hot = heat.where("anomalous").select(
    room="room", at="ts", anomaly="'hot'", celsius="round(celsius_smooth, 3)", step_name="hot"
)
noise = smoothed.key_by("room").detect(
    "noise", detectors.mad(rows=60, limit=8), on="celsius - celsius_smooth", warm_up=30
)
spikes = noise.where("anomalous and celsius > celsius_smooth").select(
    room="room", at="ts", anomaly="'spike'", celsius="celsius", step_name="spikes"
)
sensors = rooms.key_by("room").detect("sensors", detectors.missing("30 seconds"))
silent = sensors.where("anomalous").select(
    room="room", at="ts", anomaly="'silent'", celsius="celsius", step_name="silent"
)
anomalies = hot.union(spikes, silent, step_name="anomalies")
anomalies.write("results", connect.files(path="out", format="json"))
if broker:
    anomalies.write("alarms", connect.mqtt(url=broker, topic="building/{room}/alarm"))
    last = smoothed.select(room="room", celsius="round(celsius_smooth, 3)", at="ts", step_name="last")
    last.write("retained", connect.mqtt(url=broker, topic="building/{room}/smoothed", retain=True))
building.run(until="stopped" if broker else "drained")
