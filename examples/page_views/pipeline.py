"""Page views with four consumers: a store, counts, alerts and lost visitors.

`LIVE=1 python pipeline.py` receives views over HTTP, pushes the counts to a page, and sends alerts and mails.
"""

import os

from headrace import Pipeline, connect, patterns

live = "LIVE" in os.environ
site = Pipeline("page-views")
views = site.read(
    "views",
    connect.http(listen="127.0.0.1:8080", path="/views", token=os.environ.get("TOKEN", "secret"))
    if live
    else connect.files(path="events.jsonl"),
    format="json" if live else None,
    schema="visitor string, page string, status int, ts timestamp",
)
counts = views.key_by("page").aggregate("counts", n="count(*)", failed="count_if(status >= 500)")
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

views.write("store", connect.sqlite(path="views.db", table="views"))
if live:
    counts.write("live", connect.websocket(listen="127.0.0.1:8090", path="/live", backlog=100))
    failed = views.where("status >= 500", step_name="failed")
    failed.write("alerts", connect.webhook("http://127.0.0.1:8081/alerts", batch=100))
    mail = connect.smtp(
        host="127.0.0.1",
        port=8025,
        sender="site@example.org",
        to="support@example.org",
        subject="{page} failed, and the visitor gave up",
        body="{visitor} at {failed_at}",
        batch=20,
        rate_limit=60,
    )
    gave_up.write("mails", mail)
else:
    counts.write("live", connect.sqlite(path="views.db", table="counts", key="page"))
    retries.write("retried", connect.files(path="out/retried", format="json"))
    gave_up.write("lost", connect.files(path="out/gave_up", format="json"))
site.run(until="stopped" if live else "drained")
