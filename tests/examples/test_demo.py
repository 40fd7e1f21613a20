"""What `make demo` runs, as its user sees it: a process of its own that ends by itself.

At ten times the pace.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from examples_at_hand import EXAMPLES, Example


@pytest.fixture(scope="module")
def makefile() -> str:
    return (EXAMPLES.parent / "Makefile").read_text()


def test_demo_prints_alerts_and_ends_with_a_summary(example: Callable[[str], Example], makefile: str) -> None:
    assert "headrace run pipeline.yaml --drain" in makefile
    found = example("card_fraud")
    document = found.directory / "pipeline.yaml"
    assert "speed: 120}" in document.read_text()
    document.write_text(document.read_text().replace("speed: 120}", "speed: 1200}"))
    command = [
        sys.executable,
        "-m",
        "headrace.cli.app",
        "run",
        "pipeline.yaml",
        "--drain",
        "--master",
        "local[2]",
    ]
    done = subprocess.run(
        command, cwd=found.directory, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    alerts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len([alert for alert in alerts if "home" in alert]) == 6
    assert len([alert for alert in alerts if "smallest" in alert]) == 4
    said = [line.split() for line in done.stderr.splitlines()]
    assert any(words[:3] == ["read", "617", "rows"] for words in said)
    assert any(words[:4] == ["dead", "letters", "3", "records"] for words in said)
    assert (found.directory / "fraud.db").exists()
