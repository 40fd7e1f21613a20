"""The rows that one step makes of rows in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace import Pipeline, connect


def results_of(
    step: Callable[[Any], Any], rows: Sequence[Mapping[str, Any]], schema: str, place: Path
) -> list[dict[str, Any]]:
    """Run a step over a stream with the event time `ts` to its end; return what it has written."""
    pipeline = Pipeline("step")
    stream = pipeline.read("rows", connect.memory(rows=rows), schema=schema).event_time("ts")
    step(stream).write("out", connect.files(path=place / "out", format="json"))
    pipeline.run(until="drained", checkpoint=place / "checkpoint")
    lines = [line for file in (place / "out").glob("*.json") for line in file.read_text().splitlines()]
    return [json.loads(line) for line in lines]
