"""Photos of meters, read by a model: a reading that is less than the one before."""

from headrace import Pipeline, connect, patterns

city = Pipeline("meters")
recording = connect.files(path="events.jsonl")
records = city.read("records", recording, schema="meter string, ts timestamp, photo string")
photos = records.with_columns(photo="unbase64(photo)", step_name="photos")
complete = photos.expect("complete", size="octet_length(photo) = 267")
readings = complete.map_batches(
    "readings", "reading:ReadMeter", output="meter string, ts timestamp, reading int"
)
backwards = (
    readings.event_time("ts", out_of_order="1 minute")
    .key_by("meter")
    .match(
        "backwards",
        patterns.step("before").next("after", "reading < before.reading"),
        select={"at": "after.ts", "before": "before.reading", "after": "after.reading"},
    )
)
backwards.write("results", connect.files(path="out", format="json"))
city.run(until="drained")
