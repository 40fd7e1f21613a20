"""Drivers who drove longer than the rule allows without a sufficient break."""

from headrace import Pipeline, connect

hours = Pipeline("driver-hours")
activities = hours.read(
    "activities",
    connect.files(path="events.jsonl"),
    schema="licence string, activity string, minutes int, ts timestamp",
).event_time("ts", out_of_order="1 hour")
too_long = activities.key_by("licence").process("too_long", "hours:DrivingHours")
too_long.write("results", connect.files(path="out", format="json"))
hours.run(until="drained")
