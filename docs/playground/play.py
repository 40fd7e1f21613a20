"""Plays a scenario of the playground through a model, and returns what each step emits.

Runs in the browser (Pyodide) and in the tests. Times of scenarios are seconds, those of the model microseconds.
"""

from __future__ import annotations

from typing import Any

from model.patterns import Model, Row, Step, run_of
from model.windows import END, model

SECOND = 1_000_000


def play_windows(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the panes and the late rows of each step, and the watermark after it.

    As in transcripts: if a step of the scenario sets the watermark, only such steps move it; otherwise it is the
    highest event time minus `out_of_order`, and acts after the rows. The reader may move it further at the end.
    """
    by_rows = not any("watermark" in step for step in scenario["steps"] if not step.get("reader"))
    machine, clock, watermark = model(scenario["spec"]), 0, float("-inf")
    steps = []
    for step in scenario["steps"]:
        clock += int(step.get("advance", 0) * SECOND)
        rows = [_row(scenario, row) for row in step.get("rows", ())]
        emitted = machine.batch(rows, None, clock)
        times = [time for time, _, _ in rows if time is not None]
        if times and by_rows:
            watermark = max(watermark, max(times) - scenario["out_of_order"] * SECOND)
        if "watermark" in step:
            watermark = max(watermark, step["watermark"] * SECOND)
        if step.get("end"):
            watermark = END
        if watermark > machine.watermark:
            emitted += machine.batch([], watermark, clock)
        steps.append({"watermark": _seconds(watermark), "emitted": [_format(row) for row in emitted]})
    return {"steps": steps}


def play_patterns(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the matches of a pattern over rows with letters, by their rows in event-time order."""
    rows = sorted(
        (Row(int(row["ts"] * 1000), row["letter"]) for row in scenario["rows"]), key=lambda row: row.time
    )
    elements = tuple(Step(**step) for step in scenario["pattern"])
    within = scenario.get("within")
    paths = Model(elements, tuple(rows), None if within is None else int(within * 1000)).paths()
    matches = run_of(paths, scenario.get("skip", "past_last"))
    return {
        "rows": [[row.time / 1000, row.letter] for row in rows],
        "matches": [list(map(list, match)) for match in matches],
    }


def _row(scenario: dict[str, Any], row: dict[str, Any]) -> tuple[float | None, Any, Any]:
    """Return a row as the model reads it: event time, value, and what an ordered window looks at."""
    looks_at = scenario.get("looks_at")
    mark = row["v"] if looks_at == "v" else None if looks_at is None else row.get("kind") == looks_at
    return int(row["ts"] * SECOND), row["v"], mark


def _format(row: dict[str, Any]) -> dict[str, Any]:
    bounds = row["window"]
    shown: dict[str, Any] = {"output": row["output"], "window": None}
    if bounds is not None:
        start, end = (None, None) if bounds[1] == END else (bounds[0] / SECOND, bounds[1] / SECOND)
        shown["window"] = {"start": start, "end": end, "number": bounds[2] if len(bounds) > 2 else 0}
    if row["output"] == "late":
        return shown | {"v": row["value"], "reason": row["reason"]}
    pane = {name: row[name] for name in ("index", "timing", "retraction")}
    return shown | {
        "vs": row["values"],
        "total": sum(row["values"]),
        "highest": max(row["values"]),
        "pane": pane,
    }


def _seconds(watermark: float) -> float | None:
    return None if watermark in (float("-inf"), END) else watermark / SECOND
