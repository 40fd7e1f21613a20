"""The click that followed each impression of an advertisement within 10 minutes, or none."""

from headrace import Pipeline, connect

ads = Pipeline("ad-attribution")
events = ads.read(
    "events",
    connect.files(path="events.jsonl"),
    schema="kind string, user string, ad string, campaign string, ts timestamp",
).event_time("ts", out_of_order="30 seconds")
impressions = events.where("kind = 'impression'", step_name="impressions")
clicks = events.where("kind = 'click'", step_name="clicks")
attributed = impressions.join(
    "attributed",
    clicks,
    on=["user", "ad"],
    within=("0 seconds", "10 minutes"),
    how="left",
    select={
        "user": "left.user",
        "ad": "left.ad",
        "campaign": "left.campaign",
        "seen": "left.ts",
        "clicked": "right.ts",
    },
)
attributed.write("results", connect.files(path="out", format="json"))
ads.run(until="drained")
