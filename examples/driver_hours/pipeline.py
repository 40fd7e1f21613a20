"""Drivers who drove more than 4.5 hours without a break of 45 minutes."""

from headrace import Pipeline, connect, patterns

hours = Pipeline("driver-hours")
activities = hours.read(
    "activities",
    connect.files(path="events.jsonl"),
    schema="licence string, activity string, minutes int, ts timestamp",
).event_time("ts", out_of_order="1 hour")
counted = activities.where("activity = 'driving' or minutes >= 45", name="counted")
driven = "coalesce(sum(leg.minutes), 0) + minutes"
too_long = counted.key_by("licence").match(
    "too_long",
    patterns.step("leg", f"activity = 'driving' and {driven} <= 270")
    .one_or_more()
    .consecutive()
    .optional()
    .next("over", f"activity = 'driving' and {driven} > 270"),
    within="12 hours",
    select={
        "legs": "count(leg) + 1",
        "minutes": "coalesce(sum(leg.minutes), 0) + over.minutes",
        "at": "over.ts",
    },
)
too_long.write("results", connect.files(path="out", format="json"))
hours.run(until="drained")
