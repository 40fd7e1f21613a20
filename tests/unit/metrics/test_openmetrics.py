"""OpenMetrics and the Grafana dashboard that reads it."""

from __future__ import annotations

import re
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from headrace.metrics.grafana import dashboard
from headrace.metrics.openmetrics import render

JOB: dict[str, Any] = {
    "id": "0123456789ab",
    "name": 'odd "name"\\\n',
    "state": "running",
    "metrics": {
        "rows_in": 10,
        "rows_out": 9,
        "late": 1,
        "lag": 3,
        "restarts": 2,
        "state_bytes": 5,
        "watermark": "2026-03-01T12:00:00.000Z",
        "latency_ms": {"p50": 10.0, "p95": 20.0, "p99": None},
    },
    "steps": {"totals": {"rows_in": 10, "rows_out": None, "late": 1}},
    "queries": {"totals": {"phases_ms": {"addBatch": 120}}},
    "lag_by_partition": {"tx-0": 3},
}


def families(text: str) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]


def test_a_parser_accepts_every_metric() -> None:
    actual = families(render([JOB], {"uptime_seconds": 1.0}))
    assert actual["headrace_job_rows_in"].samples[0].value == 10
    assert actual["headrace_job_rows_in"].samples[0].labels["name"] == JOB["name"]
    quantiles = {sample.labels["quantile"] for sample in actual["headrace_job_latency_seconds"].samples}
    assert quantiles == {"0.50", "0.95"}
    assert actual["headrace_job_phase_seconds"].samples[0].value == 0.12
    assert [sample.labels["step"] for sample in actual["headrace_step_rows_in"].samples] == ["totals"]
    assert actual["headrace_service_uptime_seconds"].samples[0].value == 1


def test_messages_of_a_source_are_counters() -> None:
    reception = {"received": 9, "stored": 7, "duplicates": 0, "dropped": 2, "refused": 0, "backlog": 5}
    job = JOB | {"steps": {"sensors": {"reception": reception}}, "lag_by_partition": {"sensors-log": 5}}
    actual = families(render([job], {}))
    (dropped,) = actual["headrace_source_messages_dropped"].samples
    assert (dropped.labels["source"], dropped.value) == ("sensors", 2)
    assert actual["headrace_source_messages_received"].samples[0].value == 9
    (lag,) = actual["headrace_job_partition_lag"].samples
    assert (lag.labels["partition"], lag.value) == ("sensors-log", 5)


def test_violations_of_a_rule_are_a_counter() -> None:
    job = JOB | {"steps": {"checked": {"violated": {"positive": 3}}}}
    (violated,) = families(render([job], {}))["headrace_step_violations"].samples
    assert (violated.labels["step"], violated.labels["rule"], violated.value) == ("checked", "positive", 3)


def test_a_drained_watermark_has_no_delay() -> None:
    metrics = JOB["metrics"] | {"watermark": "9999-12-31T23:59:59.999Z"}
    draining = JOB | {"state": "draining", "metrics": metrics}
    assert families(render([JOB], {}))["headrace_job_watermark_delay_seconds"].samples[0].value > 0
    assert not families(render([draining], {}))["headrace_job_watermark_delay_seconds"].samples


def test_a_service_without_jobs_has_metrics() -> None:
    assert "headrace_service_jobs" in families(render([], {}))


def test_the_dashboard_reads_metrics_that_exist() -> None:
    names = {sample.name for family in families(render([JOB], {})).values() for sample in family.samples}
    known = names | {"headrace_job_event_latency_seconds"}
    queries = [panel["targets"][0]["expr"] for panel in dashboard()["panels"]]
    used = {name for query in queries for name in re.findall(r"headrace_\w+", query)}
    assert used <= known
