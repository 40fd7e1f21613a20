"""Failed page views with a retry, and those without one."""

from headrace import Pipeline, connect, patterns

site = Pipeline("page-views")
views = site.read(
    "views",
    connect.files(path="events.jsonl"),
    schema="visitor string, page string, status int, ts timestamp",
)
retries = (
    views.event_time("ts", out_of_order="5 seconds")
    .key_by("visitor", "page")
    .match(
        "retries",
        patterns.step("failed", "status >= 500").next("retry"),
        within="30 seconds",
        skip="to_next",
        select={"failed_at": "failed.ts", "helped": "retry.status < 400"},
    )
)
gave_up = retries.timeouts.select(
    visitor="visitor", page="page", failed_at="failed[0].ts", step_name="gave_up"
)

retries.write("retried", connect.files(path="out/retried", format="json"))
gave_up.write("lost", connect.files(path="out/gave_up", format="json"))
site.run(until="drained")
