"""The documents that the editor starts with; the first needs no server, so that its submission succeeds."""

from __future__ import annotations

from dataclasses import dataclass

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
_KAFKA = """\
# Payments of a Kafka topic, totals per card and ten minutes in PostgreSQL; late rows in files.
name: card-totals
sources:
  payments:
    kafka: {servers: "localhost:9092", topic: payments}
    format: json
    schema: id string, card string, amount double, ts timestamp
    event_time: {column: ts, out_of_order: 1 minute}
steps:
  totals:
    from: payments
    key_by: card
    window: {tumbling: 10 minutes}
    emit: {lateness: 1 hour, mode: accumulating}
    aggregate: {n: count(*), total: sum(amount)}
sinks:
  totals_table:
    from: totals
    postgres: {url: "postgresql://localhost/shop", table: totals, key: [card, window]}
  late_rows: {from: totals.late, files: {path: late/, format: json}}
"""
_PATTERN = """\
# Three failed logins of a user within a minute, then a success; one line for each match.
name: logins
sources:
  logins:
    files: {path: logins/}
    format: json
    schema: user string, result string, ts timestamp
    event_time: {column: ts, out_of_order: 10 seconds}
steps:
  guessed:
    from: logins
    key_by: user
    match:
      steps:
        - failed: {where: result = 'failed', times: 3}
        - success: {followed_by: result = 'success'}
      within: 1 minute
      select: {tries: count(failed.ts), at: success.ts}
sinks:
  alerts: {from: guessed, console: {}}
"""
_ROUTE = """\
# Orders of CSV files, checked and divided: large ones to one directory, the rest to another.
name: orders
sources:
  orders:
    files: {path: orders/}
    format: csv
    schema: id string, country string, amount double
steps:
  valid: {from: orders, where: amount > 0}
  split: {from: valid, route: {large: amount >= 1000, rest: true}}
sinks:
  large_orders: {from: split.large, files: {path: large/, format: json}}
  other_orders: {from: split.rest, files: {path: other/, format: json}}
  broken: {from: orders.dead_letters, files: {path: broken/, format: json}}
"""


@dataclass(frozen=True)
class Starter:
    """A document to start with."""

    title: str
    about: str
    text: str


STARTERS = (
    Starter("Generated readings", "Averages of four sensors; needs no server", STARTER),
    Starter("Kafka to PostgreSQL", "Totals per card and window, late rows in files", _KAFKA),
    Starter("Pattern", "Failed logins, then a success", _PATTERN),
    Starter("Route files", "Divide the rows of CSV files by a condition", _ROUTE),
)
