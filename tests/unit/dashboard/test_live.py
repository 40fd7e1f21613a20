"""The messages of the live stream: figures of jobs, nodes and edges."""

from __future__ import annotations

from dataclasses import replace

from headrace.dashboard.feeds.base import JobFigures, JobView, StepFigures
from headrace.dashboard.feeds.series import sparkline_of
from headrace.dashboard.feeds.service import figures_of, without_rates
from headrace.dashboard.health import health_of, judged, summary_of
from headrace.dashboard.messages import job_message, kpis_of, node_figures, partitions_of

GRAPH = {
    "nodes": [
        {"id": "tx", "parts": ["tx", "tx:event_time"], "stateful": False},
        {"id": "totals", "parts": ["totals"], "stateful": True},
    ],
    "edges": [{"id": "tx>totals", "source": "tx", "target": "totals", "output": ""}],
}


def test_node_sums_up_its_folded_steps() -> None:
    steps = {
        "tx": StepFigures(rows_out=10, rate_out=2.0, dead_letters=3),
        "tx:event_time": StepFigures(rows_in=10, rows_out=9, rate_out=1.5),
        "totals": StepFigures(rows_in=9, rate_in=1.5, busy=0.95, lag=500),
    }
    job = JobView("1", "fraud", "running", figures=JobFigures(steps=steps))
    message = job_message(job, GRAPH)
    assert message["nodes"]["tx"]["dead_letters"] == 3
    assert message["edges"]["tx>totals"] == {"label": "1.5/s", "pressure": True}


def test_side_output_has_the_rate_of_the_step_that_reads_it_alone() -> None:
    names = ("s", "united", "late_sink")
    nodes = [{"id": name, "parts": [name], "stateful": False} for name in names]
    targets = {"f": "united", "r": "united", "late": "late_sink"}
    edges = [
        {"id": output, "source": "s", "target": target, "output": output}
        for output, target in targets.items()
    ]
    figures = {"united": StepFigures(rate_in=5.0), "late_sink": StepFigures(rate_in=2.0)}
    job = JobView("1", "fraud", "running", figures=JobFigures(steps={"s": StepFigures()} | figures))
    message = job_message(job, {"nodes": nodes, "edges": edges})
    assert [message["edges"][each]["label"] for each in targets] == ["", "", "2/s"]


def test_node_has_the_watermark_of_its_stateful_step() -> None:
    steps = {"totals": StepFigures(watermark="2026-03-02T09:41:20.173Z"), "totals:select": StepFigures()}
    job = JobView("1", "fraud", "running", figures=JobFigures(steps=steps))
    node = node_figures(job, {"id": "totals", "parts": list(steps), "stateful": True})
    assert node["watermark"] == "2026-03-02 09:41:20 UTC"


def test_a_job_that_drains_shows_what_remains() -> None:
    reasons = [
        health_of(JobView("1", "fraud", "draining", figures=JobFigures(lag=lag))).reason for lag in (None, 70)
    ]
    assert reasons == [
        "The input of the time of the request is read; then every window fires and closes.",
        "The input of the time of the request is read; then every window fires and closes. 70 rows remain.",
    ]


def test_old_rows_are_a_replay_and_not_a_delay_of_the_job() -> None:
    days = {"watermark_delay_ms": 261 * 86_400_000, "late": 0, "dead_letters": 0}
    for age, shown in ((260 * 86_400_000, "Replay"), (2_000, "261 d"), (None, "261 d")):
        figures = figures_of({"metrics": days | {"event_latency_ms": {"p50": age}}})
        assert kpis_of(JobView("1", "fraud", "running", figures=figures))["delay"] == shown


def test_lost_rows_make_a_running_job_broken() -> None:
    steps = {"totals": StepFigures(balanced=False)}
    health = health_of(JobView("1", "fraud", "running", figures=JobFigures(steps=steps)))
    assert (health.severity, health.word) == ("bad", "Rows lost")


def test_sparkline_has_the_rates_of_fifteen_minutes() -> None:
    rates = sparkline_of([{"at": 100.0, "rate_in": 5.0}, {"at": 999.0, "rate_in": 7.0}], now=1_000.0)
    assert (len(rates), rates[0], rates[-1], rates[30]) == (60, 5.0, 7.0, None)


def test_figures_come_from_the_last_tick() -> None:
    metrics = {
        "rows_in": 7,
        "rows_out": 5,
        "late": 1,
        "dead_letters": 0,
        "watermark_delay_ms": 1500,
        "lag": 3,
    }
    tick = {"metrics": metrics, "steps": {"totals": {"rows_in": 7, "balanced": True}}, "queries": {}}
    figures = figures_of(tick)
    assert (figures.watermark_delay, figures.steps["totals"].balanced, figures.p99) == (1.5, True, None)


def test_source_with_a_log_shows_its_messages_and_its_backlog_as_lag() -> None:
    reception = {"received": 9, "stored": 7, "duplicates": 0, "dropped": 2, "refused": 0, "backlog": 5}
    tick = {
        "metrics": {"lag": 8, "late": 0, "dead_letters": 0},
        "steps": {"tx": {"reception": reception}, "other": {}},
    }
    figures = figures_of(tick)
    job = JobView("1", "edge", "running", figures=figures)
    node = node_figures(job, {"id": "tx", "parts": ["tx"], "stateful": False})
    assert node["lag"] == "5"
    assert node["reception"] == {
        "received": "9", "stored": "7", "duplicates": "0", "dropped": "2", "refused": "0"
    }  # fmt: skip
    assert without_rates(figures).steps["tx"].reception == reception
    other = node_figures(job, {"id": "other", "parts": ["other"], "stateful": False})
    assert (other["lag"], other["reception"]) == ("8", {})


def test_counts_of_a_step_remain_when_the_job_has_ended() -> None:
    step = StepFigures(rows_in=7, late=1, dead_letters=3, rules={"one": 2}, faults=("two: no pattern",))
    running = replace(step, rate_in=2.0, busy=0.5)
    ended = without_rates(JobFigures(rate_in=2.0, dead_letters=3, steps={"totals": running}))
    assert ended == JobFigures(dead_letters=3, steps={"totals": step})


def test_backlog_of_a_busy_step_is_backpressure() -> None:
    def pressure(lag: int, busy: float | None) -> bool:
        steps = {"totals": StepFigures(rate_in=100.0, lag=lag, busy=busy)}
        job = JobView("1", "fraud", "running", figures=JobFigures(steps=steps))
        return node_figures(job, {"id": "totals", "parts": ["totals"], "stateful": True})["pressure"] is True

    assert pressure(5_000, 0.98)
    assert pressure(5_000, None)
    assert not pressure(5_000, 0.4)
    assert not pressure(100, 0.98)  # the next batch reads it


def test_step_named_in_the_error_is_marked_until_the_next_attempt_runs() -> None:
    def failed(state: str) -> object:
        job = JobView("1", "orders", state, error="tx: no such file")
        return node_figures(job, {"id": "tx", "parts": ["tx"], "stateful": False})["failed"]

    assert [failed(state) for state in ("restarting", "failed", "running")] == [True, True, False]


def test_load_of_a_step_is_a_word() -> None:
    def load(busy: float | None, lag: int = 0) -> object:
        steps = {"totals": StepFigures(rate_in=100.0, lag=lag, busy=busy)}
        job = JobView("1", "fraud", "running", figures=JobFigures(steps=steps))
        return node_figures(job, {"id": "totals", "parts": ["totals"], "stateful": True})["load"]

    assert [load(None), load(0.01), load(0.4), load(0.95), load(0.95, 5_000)] == [
        "", "idle", "ok", "busy", "backpressure"
    ]  # fmt: skip


def test_node_has_its_totals_and_a_source_its_partitions_with_their_skew() -> None:
    partitions = {"tx-0": [300, 4], "tx-1": [100, 0]}
    tick = {
        "metrics": {"late": 0, "dead_letters": 0},
        "steps": {
            "tx": {"rows_out": 400, "partitions": partitions},
            "sums": {"rows_in": 400, "rows_out": 20},
        },
    }
    job = JobView("1", "fraud", "running", figures=figures_of(tick))
    source = {"id": "tx", "kind": "source", "parts": ["tx"], "stateful": False}
    step = {"id": "sums", "kind": "step", "parts": ["sums"], "stateful": True}
    assert (node_figures(job, source)["rows"], node_figures(job, step)["rows"]) == (
        "400 rows",
        "400 → 20 rows",
    )
    single = JobView("1", "fraud", "running", figures=JobFigures(steps={"out": StepFigures(rows_out=1)}))
    assert node_figures(single, {**source, "id": "out", "kind": "sink", "parts": ["out"]})["rows"] == "1 row"
    assert node_figures(job, source)["skew"] == "1.5 x"
    assert partitions_of(job, source) == [("tx-0", 300, 4, 1.0), ("tx-1", 100, 0, 0.333)]
    assert partitions_of(job, step) == []


def test_job_is_behind_by_its_backlog_or_by_a_watermark_that_something_holds_back() -> None:
    def health(**figures: float | None) -> tuple[str, str]:
        job = JobView("1", "fraud", "running", figures=JobFigures(**figures))  # type: ignore[arg-type]
        return health_of(job).word, health_of(job).reason

    assert health(lag=900_000, rate_in=1_000.0)[0] == "Behind"
    assert health(lag=30_000, rate_in=1_000.0) == ("Running", "")
    held = health(watermark_delay=7_200.0, event_age=4_000.0)
    assert held[0] == "Behind"
    assert held[1].startswith("the watermark is 2 h behind the clock, although rows are 4 s old")
    assert health(watermark_delay=7_200.0, event_age=3_000_000.0) == ("Running", "")  # hourly files
    assert health(watermark_delay=2e7, event_age=2e10) == ("Running", "")  # a replay
    steps = {"read": StepFigures(busy=0.2), "sums": StepFigures(busy=0.97)}
    slow = JobFigures(p99=90_000.0, steps=steps)
    assert health_of(JobView("1", "f", "running", figures=slow)).reason == (
        "rows take 1 min 30 s (p99), and `sums` is busy 97% of the time"
    )
    assert health(p99=300_000.0) == ("Running", "")  # a batch every five minutes
    assert judged(JobView("1", "f", "running")) == "lag not reported by the sources · no restarts"


def test_states_between_are_summed_up_and_are_not_called_idle() -> None:
    jobs = [JobView("1", "a", "draining"), JobView("2", "b", "stopped"), JobView("3", "c", "starting")]
    assert summary_of(jobs).reason == "1 job is draining, 1 job is starting"
    assert summary_of(jobs[1:2]).reason == "No job is running"
