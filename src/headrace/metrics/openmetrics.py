"""Metrics of all jobs and of the service, in OpenMetrics format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest

from headrace.jobs.states import JobState
from headrace.metrics.tick import watermark_delay
from headrace.runtime.progress.log import parse_time

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_JOB = ("job", "name")
_COUNTERS = {
    "rows_in": "Rows read from sources.",
    "rows_out": "Rows written to sinks.",
    "late": "Rows behind the watermark that no window could take.",
    "dead_letters": "Records that could not be decoded.",
    "mismatches": "Epochs in which the rows of a step or sink do not add up.",
    "retries": "Retries of unavailable servers by the driver, in this attempt.",
    "restarts": "Attempts started because an attempt failed.",
}
_GAUGES = {
    "lag": "Records that are available but not read.",
    "state_rows": "Rows in the state stores.",
    "state_bytes": "Bytes of the state stores.",
    "rate_in": "Rows read per second.",
    "rate_out": "Rows written per second.",
}
_STEP = {
    "rows_in": "Rows into a step.",
    "rows_out": "Rows out of a step.",
    "late": "Late rows of a step.",
    "calls": "Calls of a step's Python code, in this attempt.",
    "seconds": "Seconds in a step's Python code, in this attempt.",
    "errors": "Rows whose Python code failed, in this attempt.",
    "shadow_rows": "Rows that a shadow model was compared for, in this attempt.",
    "shadow_disagreements": "Rows for which a shadow model had another result, in this attempt.",
    "shadow_distance": "Sum of the distances of a shadow model's numbers, in this attempt.",
    "shadow_errors": "Rows for which a shadow model failed, in this attempt.",
}

_RECEPTION = {
    "received": "Messages that a source with a write-ahead log has received, since its checkpoint began.",
    "stored": "Messages stored in the log and acknowledged.",
    "duplicates": "Redeliveries of stored messages.",
    "dropped": "Messages dropped because the log was full or the message too large.",
    "refused": "Messages returned to their sender under backpressure.",
}


class _Collector:
    """The collector of prometheus-client for a list of metrics."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> list[Metric]:
        return self._metrics


def render(
    snapshots: Iterable[Mapping[str, Any]], service: Mapping[str, float], refused: Mapping[str, int] = {}
) -> str:
    """Return the text for `/metrics`.

    Args:
        snapshots: the documents of the jobs.
        service: gauges of the service itself, by name.
        refused: refused requests without a login, by status.
    """
    jobs = list(snapshots)
    of_jobs = [*_job_families(jobs), *_step_families(jobs), *_source_families(jobs)]
    families = [*of_jobs, *_service_families(jobs, service), _refused_family(refused)]
    text: bytes = generate_latest(_Collector(families))  # type: ignore[no-untyped-call]
    return text.decode()


def _job_families(jobs: list[Mapping[str, Any]]) -> Iterator[Metric]:
    for name, text in _COUNTERS.items():
        counter = CounterMetricFamily(f"headrace_job_{name}", text, labels=_JOB)
        for job in jobs:
            counter.add_metric(_labels(job), job["metrics"].get(name) or 0)
        yield counter
    for name, text in _GAUGES.items():
        yield _gauge(name, text, jobs, lambda job, name=name: job["metrics"].get(name))
    yield _gauge("watermark_seconds", "The watermark.", jobs, _watermark)
    yield _gauge("watermark_delay_seconds", "Clock minus watermark.", jobs, _watermark_delay)
    yield _state_family(jobs)
    yield from _detail_families(jobs)


def _detail_families(jobs: list[Mapping[str, Any]]) -> Iterator[Metric]:
    latency = _latency_family("headrace_job_latency_seconds", "From ingestion to sink.", jobs, "latency_ms")
    event = _latency_family(
        "headrace_job_event_latency_seconds", "From event time to sink.", jobs, "event_latency_ms"
    )
    lag = GaugeMetricFamily(
        "headrace_job_partition_lag", "Unread records of a partition.", labels=[*_JOB, "partition"]
    )
    phases = GaugeMetricFamily(
        "headrace_job_phase_seconds",
        "Duration of a phase of the last batch.",
        labels=[*_JOB, "query", "phase"],
    )
    for job in jobs:
        for partition, records in (job.get("lag_by_partition") or {}).items():
            lag.add_metric([*_labels(job), partition], records)
        for query, facts in (job.get("queries") or {}).items():
            for phase, ms in facts["phases_ms"].items():
                phases.add_metric([*_labels(job), query, phase], ms / 1000)
    yield from (latency, event, lag, phases)


def _latency_family(name: str, text: str, jobs: list[Mapping[str, Any]], key: str) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[*_JOB, "quantile"])
    for job in jobs:
        percentiles = job["metrics"].get(key) or {}
        for percentile, ms in percentiles.items():
            if ms is not None:
                family.add_metric([*_labels(job), f"0.{percentile[1:]}"], ms / 1000)
    return family


def _step_families(jobs: list[Mapping[str, Any]]) -> Iterator[Metric]:
    for name, text in _STEP.items():
        counter = CounterMetricFamily(f"headrace_step_{name}", text, labels=[*_JOB, "step"])
        for job in jobs:
            for step, facts in (job.get("steps") or {}).items():
                if facts.get(name) is not None:
                    counter.add_metric([*_labels(job), step], facts[name])
        yield counter
    violated = CounterMetricFamily(
        "headrace_step_violations", "Rows that violate a rule of `expect`.", labels=[*_JOB, "step", "rule"]
    )
    for job in jobs:
        for step, facts in (job.get("steps") or {}).items():
            for rule, rows in (facts.get("violated") or {}).items():
                violated.add_metric([*_labels(job), step, rule], rows)
    yield violated


def _source_families(jobs: list[Mapping[str, Any]]) -> Iterator[Metric]:
    for name, text in _RECEPTION.items():
        counter = CounterMetricFamily(f"headrace_source_messages_{name}", text, labels=[*_JOB, "source"])
        for job in jobs:
            for step, facts in (job.get("steps") or {}).items():
                if (reception := facts.get("reception")) is not None:
                    counter.add_metric([*_labels(job), step], reception[name])
        yield counter


def _state_family(jobs: list[Mapping[str, Any]]) -> Metric:
    family = GaugeMetricFamily("headrace_job_state", "1 for the state of a job.", labels=[*_JOB, "state"])
    for job in jobs:
        for state in JobState:
            family.add_metric([*_labels(job), str(state)], float(job["state"] == state))
    return family


def _service_families(jobs: list[Mapping[str, Any]], service: Mapping[str, float]) -> Iterator[Metric]:
    family = GaugeMetricFamily("headrace_service_jobs", "Jobs by state.", labels=["state"])
    for state in JobState:
        family.add_metric([str(state)], sum(job["state"] == state for job in jobs))
    yield family
    for name, value in service.items():
        yield GaugeMetricFamily(f"headrace_service_{name}", f"{name.replace('_', ' ')}.", value=value)


def _refused_family(refused: Mapping[str, int]) -> Metric:
    name, text = "headrace_service_refused_requests", "Refused requests without a login."
    family = CounterMetricFamily(name, text, labels=["status"])
    for status, requests in refused.items():
        family.add_metric([status], requests)
    return family


def _gauge(name: str, text: str, jobs: list[Mapping[str, Any]], value: Any) -> Metric:
    family = GaugeMetricFamily(f"headrace_job_{name}", text, labels=_JOB)
    for job in jobs:
        if (number := value(job)) is not None:
            family.add_metric(_labels(job), number)
    return family


def _watermark(job: Mapping[str, Any]) -> float | None:
    text = job["metrics"].get("watermark")
    return None if not text else parse_time(text)


def _watermark_delay(job: Mapping[str, Any]) -> float | None:
    delay = watermark_delay(job["metrics"].get("watermark")) if JobState(job["state"]).active else None
    return None if delay is None else delay / 1000


def _labels(job: Mapping[str, Any]) -> list[str]:
    return [job["id"], job["name"]]
