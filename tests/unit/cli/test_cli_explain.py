"""`headrace explain` draws, prints data, prints a flowchart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import get_args

from headrace.cli.terminal.output import THEME
from headrace.steps.traits import TierName

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_the_drawing_goes_to_standard_output(call: Call) -> None:
    done = call("explain", "good.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "words   exactly once · 1 query\n  ◉ read   ○ step   ● keeps state   ■ write\n\n  ◉  lines"
    )
    assert "●  counts  aggregate     running · by word · n = count(*)" in done.stdout
    assert not any(line.endswith(" ") for line in done.stdout.splitlines())


def test_every_tier_has_a_colour() -> None:
    assert {f"mark.{tier}" for tier in get_args(TierName)} <= THEME.styles.keys()


def test_json_is_data_and_nothing_else(call: Call) -> None:
    data = json.loads(call("explain", "good.py", "--json").stdout)
    assert [step["name"] for step in data["steps"]] == ["lines", "lines:select", "counts", "out"]


def test_mermaid_is_a_flowchart(call: Call) -> None:
    assert call("explain", "good.py", "--mermaid").stdout.startswith("flowchart LR\n")


def test_mermaid_and_json_exclude_each_other(call: Call) -> None:
    done = call("explain", "good.py", "--mermaid", "--json")
    assert done.returncode == 2
    assert (
        done.stderr
        == "error: explain: expected --mermaid or --json, got both\n  hint: a flowchart holds only the "
        "steps\n"
    )


def test_colours_come_only_when_they_are_forced(call: Call) -> None:
    assert "\x1b[" not in call("explain", "good.py").stdout
    assert "\x1b[32m" in call("explain", "good.py", FORCE_COLOR="1").stdout
    assert "\x1b[32m" not in call("explain", "good.py", FORCE_COLOR="1", NO_COLOR="1").stdout
