"""Apache Beam's trigger transcripts through the kernel's per-key logic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from headrace import triggers, windows
from headrace.engine.windowing import WindowDriver, declaration

FILES = sorted((Path(__file__).parents[1] / "transcripts" / "beam").glob("*.yaml"))
CASES = [case for file in FILES for case in YAML(typ="safe").load_all(file.read_text())]
SECOND = 1_000_000


@pytest.fixture(scope="module")
def driver(spark):
    frame = spark.createDataFrame([], "v int, __ts timestamp")
    return WindowDriver(frame, [], {"vs": "sort_array(collect_list(v))"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_beam_transcript(driver, case):
    step = case["pipeline"]["steps"]["out"]
    declared = declaration(_window(step["window"]), _emission(step.get("emit", {})))
    lines = [line for line in case["script"] if "expect" not in line]
    answer = driver.run(declared, [_batch(line) for line in lines])
    came = iter(answer["events"])
    rows: list[dict[str, Any]] = []
    for line in case["script"]:
        if "expect" not in line:
            rows += [_shown(row["__main"]) for row in next(came) if row["__output"] == "main"]
            continue
        _match(line["expect"]["out"], rows)
        rows = []
    assert rows == []


def _batch(line: dict[str, Any]) -> dict[str, Any]:
    if "rows" in line:
        return {
            "rows": [{"v": row["v"], "__ts": row["ts"] * SECOND} for row in line["rows"]["s"]],
            "clock": 0,
        }
    return {"rows": [], "watermark": line["watermark"]["s"] * SECOND, "clock": 0}


def _window(doc: dict[str, Any]) -> windows.Window:
    ((kind, size),) = doc.items()
    return {"tumbling": windows.tumbling, "session": windows.session}[kind](size)


def _emission(doc: dict[str, Any]) -> triggers.Emission:
    counted = {
        name: triggers.after_count(doc[name]["after_count"])
        for name in ("early", "late", "trigger")
        if name in doc
    }
    return triggers.emission(**(doc | counted))


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"window": {name: at // SECOND for name, at in row["window"].items()}}


def _match(expected: list[dict[str, Any]], came: list[dict[str, Any]]) -> None:
    left = list(came)
    for want in expected:
        found = next((row for row in left if _fits(want, row)), None)
        assert found is not None, f"expected {want}, came {came}"
        left.remove(found)
    assert left == []


def _fits(want: Any, row: Any) -> bool:
    if isinstance(want, dict):
        return all(name in row and _fits(value, row[name]) for name, value in want.items())
    return want == row
