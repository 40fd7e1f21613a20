"""The document that the editor starts with: a job without a server, so that its first submission succeeds."""

from __future__ import annotations

STARTER = """\
# Generated readings of four sensors, averaged over ten seconds.
name: first-job
sources:
  readings:
    generator:
      rate: 20
      columns:
        sensor: {integer: {high: 4, prefix: sensor-}}
        value: normal
    ingestion_time: true
steps:
  averages:
    from: readings
    key_by: sensor
    window: {tumbling: 10 seconds}
    aggregate: {n: count(*), mean: "round(avg(value), 2)"}
sinks:
  printed: {from: averages, console: {}}
"""
