"""Measurements of base stations: threshold alarms, rising alarms, atypical values, hourly roll-up."""

from headrace import Pipeline, connect, detectors, patterns, windows

stations = Pipeline("base-stations")
schema = """station_id string, datapoint_id string, alarm_id string, event_time timestamp,
            value double, value_threshold double"""
readings = stations.read("readings", connect.files(path="events.jsonl"), schema=schema)
timed = readings.event_time("event_time", out_of_order="10 seconds")
points = timed.key_by("station_id", "datapoint_id")
limits = points.detect("limits", detectors.threshold(high=0), on="value - value_threshold")
alarms = limits.where("anomalous").drop(
    "score", "expected", "low", "high", "anomalous", "reason", step_name="alarms"
)
rising = alarms.key_by("station_id").match(
    "rising",
    patterns.step("low").followed_by("rise", "value > greatest(low.value, rise.value)").times(2),
    within="10 minutes",
    select={"since": "low.event_time", "levels": "array(low.value, first(rise.value), rise.value)"},
)
loads = (
    timed.where("datapoint_id = 'load'")
    .key_by("station_id", "datapoint_id")
    .detect("loads", detectors.quantile(q=0.9, side="high"), on="value", warm_up=60)
)
atypical = loads.where("value > high + 3 * (high - expected)").select(
    station_id="station_id",
    datapoint_id="datapoint_id",
    at="event_time",
    value="value",
    step_name="atypical",
)
hourly = (
    points.window(windows.tumbling("1 hour"))
    .aggregate(
        "hourly",
        readings="count(*)",
        alarms="count_if(value > value_threshold)",
        mean="round(avg(value), 3)",
        highest="max(value)",
    )
    .drop("pane")
)
alarms.write("alarm_files", connect.files(path="out/alarms", format="json"))
rising.write("rising_files", connect.files(path="out/rising", format="json"))
atypical.write("atypical_files", connect.files(path="out/atypical", format="json"))
hourly.write("hourly_files", connect.files(path="out/hourly", format="json"))
stations.run(until="drained")
