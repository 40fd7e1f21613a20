"""A driver process without Spark: loads the plan, reports growing figures, and obeys the service."""

from __future__ import annotations

import argparse
import base64
import json
import os
import time
from pathlib import Path
from typing import Any

from headrace import yaml
from headrace.explain.explanation import as_json, explain
from headrace.jobs.directory import JobDirectory, write_json
from headrace.jobs.process import start_time
from headrace.plan.graph import Graph

TICK = 0.2
DEAD_LETTER = {
    "raw": base64.b64encode(b'{"sensor": "s-1", "value": "warm"}').decode(),
    "reason": 'field `value`: expected double, got string "warm" at byte 28',
    "field": "value",
    "source": "readings",
    "partition": "0",
    "position": 17,
    "read_at": "2026-03-02T09:00:00Z",
}


def main() -> None:
    """Run one attempt, as `headrace drive` does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--attempt", type=int)
    arguments = parser.parse_args()
    job = JobDirectory(arguments.directory)
    attempt = job.attempt(arguments.attempt)
    write_json(
        attempt.driver,
        {"pid": os.getpid(), "started": start_time(os.getpid()), "attempt": arguments.attempt},
    )
    specification = json.loads((job.path / "job.json").read_text())
    graph = yaml.load(job.files / specification["file"])
    write_json(job.plan, as_json(explain(graph)))
    store_dead_letter(job.checkpoint, next(iter(graph.nodes)))
    began = time.monotonic()
    while (request := job.read_request()) is None:
        rows = int((time.monotonic() - began) * 500)
        write_json(attempt.status, {"at": time.time(), **tick(graph, rows)})
        print(
            f"2026-03-02T09:00:00.000Z INFO  step=averages epoch={rows // 100} {rows} rows so far", flush=True
        )
        time.sleep(TICK)
    write_json(attempt.exit, {"ending": {"stop": "stopped", "drain": "drained"}[request], "at": time.time()})


def tick(graph: Graph, rows: int) -> dict[str, Any]:
    """Return a report of so many rows."""
    steps = {
        node.name: {"rows_in": rows, "rows_out": rows, "rate_in": 500.0, "rate_out": 500.0, "late": 0}
        for node in graph
    }
    metrics = {
        "rows_in": rows,
        "rows_out": rows,
        "late": 0,
        "dead_letters": 1,
        "rate_in": 500.0 + rows % 7,
        "rate_out": 500.0,
        "watermark": "2026-03-02T09:00:00Z",
        "watermark_delay_ms": 4_000,
        "lag": rows % 50,
        "latency_ms": {"p50": 12.0, "p95": 30.0, "p99": 55.0},
        "batch_ms": 120,
        "state_rows": 40,
    }
    return {"phase": "", "metrics": metrics, "steps": steps, "queries": {}}


def store_dead_letter(checkpoint: Path, source: str) -> None:
    """Store a dead letter as a run does."""
    directory = checkpoint / "unrouted" / f"{source}.dead_letters"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "part-0.json").write_text(json.dumps(DEAD_LETTER) + "\n")


if __name__ == "__main__":
    main()
