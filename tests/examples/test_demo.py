"""The demo as its user sees it: a process that ends by itself without a terminal; at ten times the pace."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from examples.demo import copy_example, move_to_present
from tests.support.examples_at_hand import EXAMPLES


def test_live_demo_reads_events_of_the_last_hours(tmp_path: Path) -> None:
    copy_example(tmp_path / "demo", 40)
    file = tmp_path / "demo" / "events.jsonl"
    recorded = file.read_text().splitlines()
    move_to_present(file, hours=2)
    moved = file.read_text().splitlines()
    assert len(moved) == 2 * len(recorded)
    events = [json.loads(line) for line in moved if line.startswith('{"id": "p') and line.endswith("}")]
    assert len({event["id"] for event in events}) == len(events)
    times = [datetime.fromisoformat(event["ts"]) for event in events]
    assert timedelta() < datetime.now(UTC) - max(times) < timedelta(minutes=15)
    assert timedelta(minutes=110) < max(times) - min(times) < timedelta(hours=2)


def test_demo_serves_a_page_prints_alerts_and_ends_by_itself(tmp_path: Path) -> None:
    assert "python -m examples.demo" in (EXAMPLES.parent / "Makefile").read_text()
    place = tmp_path / "demo"
    options = ["--directory", str(place), "--speed", "1200", "--port", "0", "--master", "local[2]"]
    command = [sys.executable, "-m", "examples.demo", *options]
    done = subprocess.run(
        command, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    alerts = [json.loads(line) for line in lines if line.startswith("{")]
    assert len([alert for alert in alerts if "home" in alert]) == 6
    assert len([alert for alert in alerts if "smallest" in alert]) == 4
    assert any(line.startswith("The live page: http://127.0.0.1:") for line in lines)
    [summary] = [line for line in lines if line.startswith("card-fraud drained: read 617 rows")]
    assert summary.endswith("dead letters 3")
    assert (place / "fraud.db").exists()
