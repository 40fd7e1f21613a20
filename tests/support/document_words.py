"""The contract's document as far as it can be run, and every spelling of windows and triggers beside what it means."""

from __future__ import annotations

from headrace import triggers, windows
from headrace.triggers import Trigger
from headrace.windows import Window

SCHEMA = "id string, card string, country string, amount double, ts timestamp"
CONTRACT = """\
name: card-fraud
sources:
  tx:
    kafka: {servers: "${KAFKA:-localhost:9092}", topic: payments}
    format: json
    schema: id string, card string, country string, amount double, ts timestamp
    event_time: {column: ts, out_of_order: 1 minute, idle: 30 seconds}
steps:
  big:    {from: tx, where: amount > 50}
  totals:
    from: tx
    key_by: card
    window: {tumbling: 10 minutes}
    emit: {early: {every: 30 seconds}, late: {after_count: 1}, lateness: 5 minutes, mode: retracting}
    aggregate: {n: count(*), total: sum(amount)}
  home:   {from: tx, lookup: {files: {path: homes.csv, format: csv, schema: "card string, residence string"}, on: card}}
  both:   {union: [big, home]}
  unique: {from: tx, distinct: {on: [id], within: 10 minutes}}
  split:  {from: tx, route: {foreign: country <> 'FI', rest: "true"}}
  report: {sql: "select country, count(*) n from tx group by country, window(ts, '1 hour')"}
sinks:
  totals_table: {from: totals, postgres: {url: "${PG}", table: totals, key: [card, window]}}
  late_rows:    {from: totals.late, files: {path: late/, format: json}, mode: append}
"""

WINDOWS: list[tuple[str, Window]] = [
    ("{tumbling: 10 minutes}", windows.tumbling("10 minutes")),
    ("{tumbling: {size: 1 day, offset: 6 hours}}", windows.tumbling("1 day", offset="6 hours")),
    ("{sliding: {size: 1 hour, every: 10 minutes}}", windows.sliding("1 hour", every="10 minutes")),
    ("{session: 30 seconds}", windows.session("30 seconds")),
    ("{session: {gap: 30 seconds}}", windows.session("30 seconds")),
    ("{count: 100}", windows.count(100)),
    ("{count: {size: 100, every: 10, order: arrival}}", windows.count(100, every=10, order="arrival")),
    ("{delta: {of: value, by: 5}}", windows.delta("value", by=5)),
    ("{delta: {of: value, by: 0.5, order: arrival}}", windows.delta("value", by=0.5, order="arrival")),
    ("{punctuation: kind = 'end'}", windows.punctuation("kind = 'end'")),
    ("{punctuation: {when: done, order: arrival}}", windows.punctuation("done", order="arrival")),
    ("{landmark: {when: kind = 'open'}}", windows.landmark(when="kind = 'open'")),
    ("{landmark: {reset: 1 day, step: 1 hour}}", windows.landmark(reset="1 day", step="1 hour")),
    ("{trailing: 1 hour}", windows.trailing("1 hour")),
    ("{global: {}}", windows.global_window()),
    ("global", windows.global_window()),
]

COUNT, EVERY = triggers.after_count(3), triggers.every("30 seconds")
TRIGGERS: list[tuple[str, Trigger]] = [
    ("{every: 30 seconds}", EVERY),
    ("{after_count: 3}", COUNT),
    ("{after_watermark: {}}", triggers.after_watermark()),
    ("after_watermark", triggers.after_watermark()),
    (
        "{after_watermark: {early: {every: 30 seconds}, late: {after_count: 3}}}",
        triggers.after_watermark(early=EVERY, late=COUNT),
    ),
    ("{any_of: [{every: 30 seconds}, {after_count: 3}]}", triggers.any_of(EVERY, COUNT)),
    ("{all_of: [{every: 30 seconds}, {after_count: 3}]}", triggers.all_of(EVERY, COUNT)),
    ("{in_sequence: [{every: 30 seconds}, {after_count: 3}]}", triggers.in_sequence(EVERY, COUNT)),
    ("{repeatedly: {after_count: 3}}", triggers.repeatedly(COUNT)),
    ("{or_finally: [{repeatedly: {after_count: 3}}, {every: 30 seconds}]}",
     triggers.or_finally(triggers.repeatedly(COUNT), EVERY)),
]  # fmt: skip
