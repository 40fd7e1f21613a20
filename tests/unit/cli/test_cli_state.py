"""`headrace state`: the display of a state, and the message if there is none.

With Spark: the page on state.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.checkpoints.layout import Progress
from headrace.cli.commands.state import lines_of
from headrace.debugging.state import StepState
from headrace.debugging.state_entries import StoredEntries
from headrace.explain.text import text_of

Call = Callable[..., subprocess.CompletedProcess[str]]


def draw(verb: str, progress: Progress, **actual: Any) -> list[str]:
    return text_of(lines_of(StepState("totals", verb, progress, StoredEntries(**actual)))).splitlines()


def window(**more: Any) -> dict[str, Any]:
    return {"start": "09:00", "end": "09:01", "rows": 3, "unshown": 3, "values": {"total": 42}} | more


def test_windows_with_their_panes() -> None:
    shown = [
        window(last_pane=1, unshown=1),
        window(number=4, closed=True, values=None),
        window(start=None, end=None),
        {"start": "09:00", "end": "09:01", "values": {"total": 1}},
    ]
    lines = draw(
        "window",
        Progress(7, "09:05", 2),
        keys=30,
        counts={"windows": 40, "waiting": 1},
        entries=(
            {
                "key": {"card": "a", "shop": 1},
                "windows": shown,
                "waiting": [{"time": "09:02", "panes": 0, "row": {"v": 1}}],
            },
        ),
    )
    assert lines[:8] == [
        "totals  window  epoch 7, watermark 09:05",
        "  30 keys, 1 row waiting, 40 open windows",
        "  card=a, shop=1",
        "    [09:00, 09:01)  3 rows (1 not shown yet)  last pane 1  total=42",
        "    #4 from 09:00 to 09:01  3 rows  closed",
        "    global  3 rows  total=42",
        "    [09:00, 09:01)  total=1",
        "    waits: 09:02  v=1",
    ]
    assert lines[8] == "  ... and 29 more keys (--limit, --key)"


def test_running_results_kept_times_and_many_of_them() -> None:
    entries = ({"key": {}, "values": {"n": 3}}, {"key": {"id": 1}, "kept": [f"09:0{n}" for n in range(7)]})
    lines = draw("aggregate", Progress(), keys=2, counts={"kept": 7, "values": 1}, entries=entries)
    assert lines[0] == "totals  aggregate  no epoch finished yet, watermark none"
    assert "  2 keys, 7 kept times, 1 result" in lines
    assert "  all rows  n=3" in lines
    assert "    kept: 09:04" in lines
    assert "    ... and 2 more (--json has all)" in lines


def test_after_the_end_of_the_input() -> None:
    assert draw("window", Progress(3, "end"))[0] == "totals  window  epoch 3, the input has ended"


def test_without_a_checkpoint_it_reports_it_and_starts_nothing(call: Call, here: Path) -> None:
    done = call("state", "good.py")
    assert done.returncode == 2
    assert ".headrace/words: there is no checkpoint" in done.stderr
    assert "run the pipeline first" in done.stderr
    assert not (here / ".headrace").exists()
