"""Drivers who worked longer, or took shorter breaks, than the rule allows within 12 hours."""

from headrace import Pipeline, connect

hours = Pipeline("driver-hours")
trips = hours.read(
    "trips", connect.files(path="events.jsonl"), schema="licence string, event string, ts timestamp"
).event_time("ts", out_of_order="1 hour")
violations = trips.key_by("licence").process("violations", "hours:WorkingHours")
violations.write("results", connect.files(path="out", format="json"))
hours.run(until="drained")
