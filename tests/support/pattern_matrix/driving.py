"""Runs cells in the kernel's driver: no session of streams, no files, a tenth of a second each."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.lowering.patterns.matches import match_driver
from headrace.lowering.watermarks import END_OF_TIME_MS
from headrace.steps.patterns.match import Match
from headrace.testing.transcripts.case import read_case
from tests.support.matrix.runs import Outcomes
from tests.support.matrix.streams import End, Watermark
from tests.support.pattern_matrix.cells import Cell
from tests.support.pattern_matrix.expected import Outputs, expected_outputs
from tests.support.pattern_matrix.runs import PATTERNS
from tests.support.pattern_matrix.streams import STREAMS, Line, Rows
from tests.support.pattern_matrix.writing import content_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000
LATE = ("k", "v", "reason")


@dataclass(frozen=True)
class Driven:
    """The result of a cell."""

    name: str
    failure: str

    @property
    def passed(self) -> bool:
        return not self.failure


def columns(spark: SparkSession) -> DataFrame:
    """The columns of the rows, without rows."""
    return spark.createDataFrame([], "k string, v int, letter string, __ts timestamp")


def driven(cell: Cell, frame: DataFrame) -> Driven:
    """A cell in the driver, with a restart after each line where the run is killed."""
    received, expected = (
        in_order(kernel_outputs(cell, frame)),
        in_order(expected_outputs(cell, STREAMS[cell.disorder])),
    )
    return Driven(cell.name, "" if received == expected else f"expected {expected}\ncame {received}")


def drive_and_note(chosen: Sequence[Cell], spark: SparkSession) -> list[Driven]:
    """Drive cells and note what came of them; the failures."""
    outcomes, frame, started = Outcomes(PATTERNS), columns(spark), time.monotonic()
    actual = []
    for cell in chosen:
        actual.append(driven(cell, frame))
        outcomes.note(cell, "kernel", actual[-1])
    outcomes.write()
    print(f"kernel: {len(actual)} cells, {time.monotonic() - started:.0f} s")
    return [item for item in actual if not item.passed]


def kernel_outputs(cell: Cell, columns: DataFrame) -> Outputs:
    """Return the output of the kernel for a cell."""
    [node] = read_case(content_of(cell)).graph.of(Match)
    driver = match_driver(columns, ["k"], replace(node, select=None))
    events = driver.run([*lines(STREAMS[cell.disorder], killed=cell.disorder == "killed")])["events"]
    received: Outputs = {"out": [], "out.late": []}
    for row in (row for event in events for row in event):
        if row["__output"] == "main":
            received["out"].append(match_of(row["__main"]))
        elif row["__output"] == "late":
            received["out.late"].append({name: row["__late"][name] for name in LATE})
    return received


def match_of(row: dict[str, Any]) -> dict[str, Any]:
    return {"k": row["k"]} | {name: [taken["v"] for taken in row[name]] for name in ("s", "a", "b")}


def lines(stream: Sequence[Line], *, killed: bool) -> Iterator[dict[str, Any]]:
    """A stream as the driver's script."""
    for line in stream:
        if isinstance(line, Rows):
            rows = [
                {"k": r.k, "v": r.v, "letter": r.letter, "__ts": None if r.ts is None else r.ts * SECOND}
                for r in line.rows
            ]
            yield {"rows": rows, "restart": killed}
        elif isinstance(line, Watermark):
            yield {"rows": [], "watermark": int(line.at) * SECOND, "restart": killed}
        elif isinstance(line, End):
            yield {"rows": [], "watermark": END_OF_TIME_MS * 1000}


def in_order(outputs: Outputs) -> dict[str, list[str]]:
    """Sort rows, late ones by their distinguishing columns."""
    late = [{name: row[name] for name in LATE} for row in outputs["out.late"]]
    return {
        "out": sorted(json.dumps(row, sort_keys=True) for row in outputs["out"]),
        "out.late": sorted(json.dumps(row, sort_keys=True) for row in late),
    }
