"""The demo as its user sees it: a process that ends by itself without a terminal; at ten times the pace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.examples_at_hand import EXAMPLES


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
