"""Three alarms of one base station, each higher than the one before, within a minute."""

from headrace import Pipeline, connect, patterns

stations = Pipeline("base-stations")
alarms = stations.read(
    "alarms", connect.files(path="events.jsonl"), schema="station string, level int, ts timestamp"
)
warnings = (
    alarms.event_time("ts", out_of_order="5 seconds")
    .key_by("station")
    .match(
        "rising",
        patterns.step("low").followed_by("rise", "level > greatest(low.level, rise.level)").times(2),
        within="1 minute",
        select={"since": "low.ts", "levels": "array(low.level, first(rise.level), rise.level)"},
    )
)
warnings.write("results", connect.files(path="out", format="json"))
stations.run(until="drained")
