"""Simulated jobs: a feed in memory with a healthy, a lagging, a restarting, a failed and a drained job."""

from __future__ import annotations

import base64
import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace import yaml
from headrace.checkpoints.comparison import Comparison, compare
from headrace.checkpoints.planned_state import state_of_plan
from headrace.dashboard.feeds.base import (
    AlertView,
    AuditView,
    ChartData,
    EventView,
    JobFigures,
    JobView,
    RuleView,
    ScalingView,
    StepFigures,
    UserView,
)
from headrace.errors import DocumentError, OptionError, Problem
from headrace.explain.explanation import as_json, explain
from headrace.jobs.model import Attempt
from headrace.jobs.security.policy import Policy
from headrace.plan.absences import trailing_absences
from headrace.plan.graph import Graph
from tests.support.checkpoints import write_sealed

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = {
    "a1f3c90b77d2": ("card-fraud", "running", "card_fraud"),
    "b27d01e4ac88": ("base-stations", "running", "base_stations"),
    "c90be2f1d356": ("stocks", "restarting", "stocks"),
    "d4410c7ae902": ("page-views", "failed", "page_views"),
    "e8802b6f1c4d": ("driver-hours", "drained", "driver_hours"),
}
FAILURE = (
    "DeliveryError: sink `alerts`: the webhook answered 503 for 5 minutes\n"
    "  hint: check the receiver, then restart"
)
LETTERS = (
    (
        '{"id": "b-1", "card": "card-03", "country": "FI", "amount": 12.5, "shop": "kiosk", "ts": "2026-03-02T09:0',
        "not JSON: the record ends too early",
        None,
    ),
    ('{"id": "b-2", "amount": "12,50"}', 'field `amount`: expected double, got string "12,50"', "amount"),
    ('{"id": "b-3", "ts": "yesterday"}', 'field `ts`: expected timestamp, got string "yesterday"', "ts"),
)


class SimulatedFeed:
    """Implements `headrace.dashboard.feeds.base.Feed`; figures are functions of the clock."""

    policy = Policy()

    def __init__(self, directory: Path, names: Mapping[str, tuple[str, str, str]] = NAMES) -> None:
        self.directory_of_jobs = directory
        self.names = dict(names)
        self.started = time.time() - 5_400
        self._plans: dict[str, dict[str, Any]] = {}
        for job in self.names:
            self._write_files(job)

    def jobs(self) -> Sequence[JobView]:
        return [self._view(job) for job in self.names]

    def job(self, job: str) -> JobView | None:
        return self._view(job) if job in self.names else None

    def plan(self, job: str) -> dict[str, Any] | None:
        if job not in self._plans:
            _, text = self.document(job)
            graph = self._graph(job, text)
            absences = {"trailing_absences": trailing_absences(graph)}
            self._plans[job] = as_json(explain(graph)) | absences
        return self._plans[job]

    def _graph(self, job: str, text: str) -> Graph:
        file = EXAMPLES / self.names[job][2] / "pipeline.yaml"  # functions are beside it
        return yaml.from_text(text, file=str(file))

    def document(self, job: str) -> tuple[str, str]:
        return "pipeline.yaml", (EXAMPLES / self.names[job][2] / "pipeline.yaml").read_text()

    def directory(self, job: str) -> str:
        return str(self.directory_of_jobs)

    def history(self, job: str, seconds: float) -> ChartData:
        now, points = time.time(), 180
        times = [now - seconds + seconds * i / points for i in range(points + 1)]
        rows = [_point(job, t) for t in times]
        ended = self.names[job][1] in ("failed", "drained")
        cut = points // 2 if ended else points + 1
        columns: dict[str, list[float | None]] = {
            key: [row[key] if i < cut else None for i, row in enumerate(rows)] for key in rows[0]
        }
        for step in (self.plan(job) or {"steps": []})["steps"]:
            for side, name in (("in", "rate_in"), ("out", "rate_out")):
                columns[f"{side}/{step['name']}"] = columns[name]
        marks = [(times[points // 3], "restart")] if self._restarts(job) else []
        return ChartData({"t": list(times), **columns}, marks)

    def scaling(self, job: str) -> ScalingView | None:
        return None

    def attempts(self, job: str) -> Sequence[Attempt]:
        state, restarts = self.names[job][1], self._restarts(job)
        last = Attempt(job, restarts + 1, self.started + 600 * restarts, pid=4711)
        if state in ("failed", "drained"):
            error = FAILURE if state == "failed" else None
            last = replace(last, ended=last.started + 420, exit_reason=state, error=error)
        earlier = [
            Attempt(
                job,
                n,
                self.started + 600 * (n - 1),
                pid=4600 + n,
                ended=self.started + 600 * n,
                exit_reason="failed",
                error=FAILURE,
            )
            for n in range(restarts, 0, -1)
        ]
        return [last, *earlier]

    def events(self, job: str) -> Sequence[EventView]:
        began = self.started
        return [
            EventView(began + 4_660, "alert lag", detail="lag above 1 M rows", severity="warn"),
            EventView(began + 900, "savepoint", detail="before-upgrade-1"),
            EventView(began + 899, "upgrade requested", "ana"),
            EventView(began + 12, "running", detail="reading", severity="ok"),
            EventView(began, "submitted", "ana"),
        ]

    def log_file(self, job: str, attempt: int) -> Path:
        return self.directory_of_jobs / job / "log.txt"

    def checkpoint(self, job: str) -> Path:
        return self.directory_of_jobs / job / "checkpoint"

    def inquire(self, job: str, kind: str, step: str = "", key: str = "") -> Mapping[str, Any]:
        if kind == "plan":
            executor = {"id": "driver", "host": "127.0.0.1:7077", "cores": 2, "active_tasks": 2}
            executors = [executor | {"completed_tasks": 48_211, "failed_tasks": 0}]
            return {
                "plans": {"totals": "WriteToDataSourceV2\n+- StateStoreSave [card]"},
                "executors": executors,
            }
        if kind == "last_rows":
            kept = [{"card": f"card-0{n}", "n": n, "total": 12.5 * n} for n in (1, 2, 3)]
            return {"step": step, "at": time.time() - 4, "rows": kept if step != "pairs" else []}
        if kind == "sample":
            rows = [{"card": f"c{n}", "amount": 12.5 * n, "window": {"start": "09:10"}} for n in range(1, 4)]
            return {"step": step, "rows": rows}
        if key == "nobody":
            raise OptionError("unknown key `nobody`", where=step)
        window = {"start": "2026-03-02T09:10:00Z", "end": "2026-03-02T09:20:00Z", "rows": 3}
        entry = {"key": {"card": key or "4711"}, "windows": [window | {"values": {"n": 3, "total": 81.5}}]}
        facts = {"epoch": 12, "watermark": "2026-03-02T09:12:00Z", "keys": 1, "counts": {"windows": 1}}
        return {"steps": [{"step": step, "verb": "window", "entries": [entry], **facts}]}

    def alerts(self) -> Sequence[AlertView]:
        now = time.time()
        return [
            AlertView("lag", "b27d01e4ac88", "base-stations", "warn", "lag above 1 M rows", now - 740),
            AlertView("restarts", "d4410c7ae902", "page-views", "bad", "3 restarts in an hour", now - 2_400),
            AlertView(
                "no data", "a1f3c90b77d2", "card-fraud", "warn", "no rows for 2 min", now - 9_000, now - 8_700
            ),
        ]

    def rules(self) -> Sequence[RuleView]:
        return [
            RuleView("failed", "the job has failed"),
            RuleView("lag", "more than 1,000,000 records, for 5 minutes", "base-stations", "r1", "ben"),
        ]

    def users(self) -> tuple[Sequence[UserView], Sequence[UserView]]:
        created = self.started - 86_400 * 12
        users = [UserView("ana", "admin", created), UserView("ben", "operator", created)]
        return users, [UserView("ben", "viewer", self.started, "Grafana", self.started + 86_400 * 30)]

    def audit(self, before: float | None) -> AuditView:
        action = "POST /api/v1/jobs/a1f3c90b77d2/stop"
        entry: dict[str, Any] = {"actor": "ana", "action": action, "job": "a1f3c90b77d2", "outcome": "200"}
        entries = [entry | {"at": self.started - 60 * n} for n in range(3)]
        return AuditView(entries, None if before else entries[-1]["at"], {"401": 12})

    def compare(self, job: str, document: str) -> Comparison | None:
        old = state_of_plan(self._graph(job, self.document(job)[1]))
        return compare(old, self._graph(job, document))

    def test(self, document: str, rows: Mapping[str, str], directory: str | None) -> Mapping[str, Any]:
        if "division" in document:
            problem = Problem("pipeline.yaml:3:1: `totals`", "[DIVIDE_BY_ZERO] Division by zero.")
            raise DocumentError([problem, Problem(f"rows.{next(iter(rows))}:2: amount", "expected double")])
        panes = [
            {"card": f"card-0{n}", "window": {"start": "2026-03-02T09:00:00Z"}, "n": n, "total": 12.5 * n}
            for n in (1, 2, 3)
        ]
        letter = {"raw": LETTERS[1][0], "reason": LETTERS[1][1], "field": "amount"}
        outputs = [
            {"name": "alerts", "kind": "sink", "count": 3, "rows": panes},
            {"name": "pairs", "kind": "sink", "count": 0, "rows": []},
            {"name": "payments.dead_letters", "kind": "dead_letters", "count": 1, "rows": [letter]},
        ]
        return {"outputs": outputs, "dropped": 0}

    def about(self) -> Mapping[str, str]:
        return {"Data directory": "/var/lib/headrace", "Jobs": str(len(self.names))}

    def _restarts(self, job: str) -> int:
        return {"restarting": 2, "failed": 3}.get(self.names[job][1], 0)

    def _view(self, job: str) -> JobView:
        name, state, _ = self.names[job]
        now = time.time()
        live = state in ("running", "restarting")
        recent = [_point(job, now - 900 + 15 * i)["rate_in"] for i in range(61)]
        error = (
            FAILURE
            if state == "failed"
            else "the driver exited with status 137"
            if state == "restarting"
            else None
        )
        return JobView(
            job,
            name,
            state,
            owner="ana" if job < "c" else "ben",
            file="pipeline.yaml",
            created=self.started,
            changed=now - 240,
            restarts=self._restarts(job),
            error=error,
            figures=self._figures(job) if live else JobFigures(late=12, dead_letters=3),
            warning="lag above 1 M rows" if name == "base-stations" else "",
            warned=self.started + 4_660,
            recent=recent if live else [*recent[:20], *[None] * 41],
        )

    def _figures(self, job: str) -> JobFigures:
        now = time.time()
        point, read = _point(job, now), int((now - self.started) * 1_200)
        steps: dict[str, StepFigures] = {}
        lagging = job == "b27d01e4ac88"
        for index, step in enumerate((self.plan(job) or {"steps": []})["steps"]):
            rate = (point["rate_in"] or 0) * 0.9**index
            rows = int(read * 0.9**index)
            held = {"rows": rows, "emitted": rows - 412, "in_open_windows": 400, "late": 12}
            steps[step["name"]] = StepFigures(
                rows_in=None if step["kind"] == "source" else rows,
                rows_out=rows,
                rate_in=None if step["kind"] == "source" else rate,
                rate_out=None if step["kind"] == "sink" else rate,
                late=12 if step["stateful"] else 0,
                dead_letters=3 if step["kind"] == "source" else 0,
                busy=0.97 if lagging and step["stateful"] else 0.34 if step["stateful"] else None,
                state_rows=48_200 if step["stateful"] else None,
                watermark="2026-03-02T09:41:20Z" if step["stateful"] else None,
                lag=1_430_000 if lagging else 0,
                accounting=held if step["stateful"] else {},
                balanced=True if step["stateful"] else None,
                partitions={f"alarms-{n}": (61_000 * (3 * (n == 3) + 1), 357_500) for n in range(4)}
                if lagging and step["kind"] == "source"
                else {},
                ledger_epoch=40 if step["name"].endswith("_table") else None,
            )
        return JobFigures(
            rate_in=point["rate_in"],
            p99=point["p99"],
            lag=int(point["lag"] or 0),
            watermark="2026-03-02T09:41:20Z",
            watermark_delay=point["watermark_delay"],
            late=12,
            dead_letters=3,
            state_rows=48_200,
            state_bytes=12_400_000,
            steps=steps,
            out_of_order=[(0, 41_000), (250, 900), (1_000, 400), (5_000, 120), (20_000, 30), (60_000, 4)],
            recommended_ms=20_000,
            slowest_partition="alarms-3" if lagging else "",
        )

    def _write_files(self, job: str) -> None:
        checkpoint = self.checkpoint(job)
        source = next(iter((self.plan(job) or {"steps": [{"name": "tx"}]})["steps"]))["name"]
        stored = checkpoint / "unrouted" / f"{source}.dead_letters"
        stored.mkdir(parents=True)
        letters = [
            {
                "raw": base64.b64encode(raw.encode()).decode(),
                "reason": reason,
                "field": field,
                "source": source,
                "partition": "events.jsonl",
                "position": 153 * (n + 1),
                "read_at": "2026-11-16T19:19:20.273Z",
            }
            for n, (raw, reason, field) in enumerate(LETTERS)
        ]
        (stored / "part-0.json").write_text("".join(json.dumps(letter) + "\n" for letter in letters))
        (checkpoint / "unrouted" / "totals.late").mkdir()
        commits, offsets = (
            checkpoint / "queries" / "totals" / "spark" / each for each in ("commits", "offsets")
        )
        write_sealed(commits / "41", 'v1\n{"nextBatchWatermarkMs":1772444480000}')
        settings = '{"batchWatermarkMs":0,"conf":{"spark.sql.shuffle.partitions":"2"}}'
        write_sealed(offsets / "41", f"v1\n{settings}\n")
        lines = [
            f"2026-11-16T19:1{n // 10}:{n % 10}0.120Z INFO  step=totals epoch={n} committed: {617 + n} rows read"
            for n in range(80)
        ]
        lines[40] = "2026-11-16T19:14:02.000Z WARN  the watermark of partition 3 is 41 s behind"
        lines[70] = (
            "2026-11-16T19:17:05.000Z ERROR step=totals epoch=70 sink `alerts`: the webhook answered 503, retry in 4 s"
        )
        (self.directory_of_jobs / job / "log.txt").write_text("\n".join(lines) + "\n")


def _point(job: str, at: float) -> dict[str, float | None]:
    noise = random.Random(f"{job}{int(at / 2)}").random()
    wave, scale = math.sin(at / 90), 1 + int(job[:2], 16) / 64
    lagging = job == "b27d01e4ac88"
    rate = scale * (4_200 + 900 * wave + 500 * noise)
    p50 = scale * (14 + 5 * noise)
    return {
        "rate_in": rate,
        "rate_out": rate * 0.93,
        "p50": p50,
        "p95": p50 * (2.2 + noise),
        "p99": p50 * (4 + 3 * noise),
        "lag": 1_430_000 + 40_000 * wave if lagging else 300 * noise,
        "watermark_delay": 640 + 30 * wave if lagging else 62 + 4 * noise,
        "batch_ms": 300 + 180 * noise,
        "phase/addBatch": 210 + 170 * noise,
        "phase/queryPlanning": 40 + 4 * noise,
        "phase/walCommit": 24 + 3 * noise,
        **{f"lag/alarms-{n}": (410_000 + 9_000 * wave) * (n + 1) / 3 for n in range(4) if lagging},
        "state_rows": 48_000 + 2_000 * wave,
        "state_bytes": 9_600_000 + 400_000 * wave,
        "late": 12.0,
        "dead_letters": 3.0,
    }
