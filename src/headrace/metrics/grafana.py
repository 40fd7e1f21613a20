"""A Grafana dashboard for the metrics at `/metrics`."""

from __future__ import annotations

from typing import Any

_PANELS = (
    ("Rows in", "rate(headrace_job_rows_in_total{name=~'$name'}[1m])", "rowsps", "{{name}}"),
    ("Rows out", "rate(headrace_job_rows_out_total{name=~'$name'}[1m])", "rowsps", "{{name}}"),
    (
        "Latency, ingestion to sink",
        "headrace_job_latency_seconds{name=~'$name'}",
        "s",
        "{{name}} {{quantile}}",
    ),
    (
        "Latency, event to sink",
        "headrace_job_event_latency_seconds{name=~'$name'}",
        "s",
        "{{name}} {{quantile}}",
    ),
    ("Lag", "headrace_job_lag{name=~'$name'}", "short", "{{name}}"),
    ("Watermark delay", "headrace_job_watermark_delay_seconds{name=~'$name'}", "s", "{{name}}"),
    ("State", "headrace_job_state_bytes{name=~'$name'}", "bytes", "{{name}}"),
    ("Batch by phase", "headrace_job_phase_seconds{name=~'$name'}", "s", "{{query}} {{phase}}"),
    ("Late rows", "increase(headrace_job_late_total{name=~'$name'}[5m])", "short", "{{name}}"),
    ("Dead letters", "increase(headrace_job_dead_letters_total{name=~'$name'}[5m])", "short", "{{name}}"),
    ("Restarts", "increase(headrace_job_restarts_total{name=~'$name'}[1h])", "short", "{{name}}"),
    ("Mismatches", "increase(headrace_job_mismatches_total{name=~'$name'}[1h])", "short", "{{name}}"),
)
_WIDTH, _HEIGHT = 12, 8
_SOURCE = {"type": "prometheus", "uid": "${source}"}


def dashboard() -> dict[str, Any]:
    """Return the dashboard, to be imported into Grafana."""
    return {
        "title": "Headrace jobs",
        "uid": "headrace-jobs",
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "tags": ["headrace"],
        "templating": {"list": [_source_variable(), _name_variable()]},
        "panels": [_panel(number, *panel) for number, panel in enumerate(_PANELS)],
    }


def _panel(number: int, title: str, query: str, unit: str, legend: str) -> dict[str, Any]:
    row, column = divmod(number, 2)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "expr": query, "legendFormat": legend, "datasource": _SOURCE}],
    }


def _source_variable() -> dict[str, Any]:
    return {"name": "source", "type": "datasource", "query": "prometheus", "label": "Source"}


def _name_variable() -> dict[str, Any]:
    return {
        "name": "name",
        "type": "query",
        "label": "Job",
        "datasource": _SOURCE,
        "query": "label_values(headrace_job_rows_in_total, name)",
        "multi": True,
        "includeAll": True,
        "refresh": 2,
    }
