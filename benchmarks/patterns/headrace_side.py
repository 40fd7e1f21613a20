"""The pattern in Headrace."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.noop_sink import NoopSink
from benchmarks.patterns.events import OUT_OF_ORDER, SCHEMA, WITHIN
from headrace import Matches, Pipeline, connect, patterns

LOGIN_THEN_PAY = patterns.step("login", "kind = 'login'").followed_by("pay", "kind = 'pay' and amount > 90")
MEASURES = "login_at bigint, pay_at bigint, amount double, n int"
SELECT = {"login_at": "login.ts", "pay_at": "pay.ts", "amount": "pay.amount", "n": "1"}


def job(servers: str, topic: str, epoch: int, rules: Path | None = None) -> tuple[Pipeline, NoopSink]:
    """Build the pipeline and its counting sink, with micro-batches of `epoch` events.

    Late rows and timeouts are counted and dropped, as in the other engines.
    """
    pipeline, out = Pipeline("cards"), NoopSink()
    source = connect.kafka(servers=servers, topic=topic, start="earliest", max_per_batch=epoch)
    events = pipeline.read("events", source, format="json", schema=SCHEMA, on_error="skip")
    timed = events.with_columns(at="timestamp_millis(ts)").event_time(
        "at", out_of_order=f"{OUT_OF_ORDER} milliseconds"
    )
    cards = timed.key_by("card")
    if rules is not None:
        answers: Matches = cards.match_rules(
            "answers", rules=rules, measures=MEASURES, late_rows="count", timeouts="count"
        )
    else:
        answers = cards.match(
            "answers",
            LOGIN_THEN_PAY,
            within=f"{WITHIN} milliseconds",
            select=SELECT,
            late_rows="count",
            timeouts="count",
        )
    answers.write("out", out)
    return pipeline, out


def write_rules(file: Path, count: int) -> Path:
    """Write a table of rules that differ in the amount, from 90 to nearly 100."""
    rules = {
        f"over_{number}": {
            "steps": [
                {"login": "kind = 'login'"},
                {"pay": {"followed_by": f"kind = 'pay' and amount > {90 + 10 * number / count:g}"}},
            ],
            "within": f"{WITHIN} milliseconds",
            "select": SELECT,
        }
        for number in range(count)
    }
    file.write_text(json.dumps(rules))
    return file
