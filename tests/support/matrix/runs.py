"""Runs cells and keeps what came of them, for the page of the documentation.

Outcomes are kept with a fingerprint of their case: one whose transcript has changed since counts as not run.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headrace.testing.transcripts.case import Case, read_case
from tests.support.matrix.cells import Cell, cells
from tests.support.matrix.writing import case_of, content_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing import Outcome

Way = Literal["kernel", "batch", "spark"]
OUTCOMES = Path(__file__).parents[3] / "docs" / "_making" / "matrix.json"
AT_ONCE = 24
"""Cells between two notes of the outcomes, so that a long run can be broken off and gone on with."""


@dataclass(frozen=True)
class Table:
    """A matrix: its cells, each as a case and as the case's text, and where outcomes are kept."""

    cells: Callable[[], Iterable[Any]]
    content: Callable[[Any], dict[str, Any]]
    text: Callable[[Any], str]
    outcomes: Path

    @property
    def allowed(self) -> list[Any]:
        """The cells that have a case."""
        return [cell for cell in self.cells() if not cell.refusal]


WINDOWS = Table(cells, content_of, case_of, OUTCOMES)


def comparable(cell: Cell) -> bool:
    """True if the batch result of the cell can be compared with the stream.

    The panes of its windows end with all their rows.
    """
    whole = {*cell.emit} <= {"mode", "early", "late", "lateness", "trigger"}
    ends = (
        cell.trigger.name in ("default", "in_sequence")
        or "watermark" in cell.trigger.name
        or "emit" in cell.trigger.name
    )
    return whole and ends and cell.mode != "discarding"


def allowed(only: str = "") -> list[Cell]:
    """The cells that have a case, and whose name contains a text."""
    return [cell for cell in WINDOWS.allowed if only in cell.name]


def case(cell: Any, way: Way, table: Table = WINDOWS) -> Case:
    """The case of a cell, to be run one way.

    It is read from what the file's text is made of, as YAML is slow to read.
    """
    return replace(read_case(table.content(cell)), through="spark" if way == "spark" else "kernel")


def run(
    chosen: Sequence[Any], way: Way, spark: SparkSession, *, side_by_side: int = 4, table: Table = WINDOWS
) -> list[Outcome]:
    """Run cells: without a query, so and as a batch where that can be compared, or through Spark."""
    from headrace.testing import run_cases

    read = [case(cell, way, table) for cell in chosen]
    return run_cases(read, batch=way == "batch", spark=spark, side_by_side=side_by_side)


class Outcomes:
    """Store the result of each cell in a file."""

    def __init__(self, table: Table = WINDOWS) -> None:
        self._table = table
        self._path = path = table.outcomes
        self._found: dict[str, dict[str, str]] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, cell: Any, way: Way) -> str:
        """`passed`, `failed`, or nothing where the cell was not run as it is now."""
        actual = self._found.get(cell.name, {})
        return actual.get(way, "") if actual.get("case") == fingerprint(cell, self._table) else ""

    def note(self, cell: Any, way: Way, outcome: Any) -> None:
        if self._found.get(cell.name, {}).get("case") != fingerprint(cell, self._table):
            self._found[cell.name] = {"case": fingerprint(cell, self._table)}
        self._found[cell.name][way] = "passed" if outcome.passed else "failed"

    def write(self) -> None:
        """One line for each cell, in the order of the table; cells that are no more are left out."""
        lines = [
            f"{json.dumps(cell.name)}: {json.dumps(self._found[cell.name])}"
            for cell in self._table.allowed
            if cell.name in self._found
        ]
        self._path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def fingerprint(cell: Any, table: Table = WINDOWS) -> str:
    """Return the digest of a case."""
    return hashlib.sha256(table.text(cell).encode()).hexdigest()[:12]


def run_and_note(
    chosen: Sequence[Any], way: Way, spark: SparkSession, *, side_by_side: int, table: Table = WINDOWS
) -> list[Outcome]:
    """Run what has not passed yet and note it; the failures."""
    outcomes, failures = Outcomes(table), []
    left = [cell for cell in chosen if outcomes.of(cell, way) != "passed"]
    left.sort(
        key=lambda cell: fingerprint(cell, table)
    )  # a run that is broken off has seen some of everything
    started = time.monotonic()
    for done, part in _parts(left):
        for cell, outcome in zip(
            part, run(part, way, spark, side_by_side=side_by_side, table=table), strict=True
        ):
            outcomes.note(cell, way, outcome)
            failures += [] if outcome.passed else [outcome]
        outcomes.write()
        _tell(way, done + len(part), len(left), len(failures), time.monotonic() - started)
    return failures


def _parts(of: Sequence[Any]) -> Iterator[tuple[int, Sequence[Any]]]:
    return ((at, of[at : at + AT_ONCE]) for at in range(0, len(of), AT_ONCE))


def _tell(way: str, *numbers: Any) -> None:
    done, of, failed, seconds = numbers
    sys.stdout.write(f"{way}: {done} of {of} cells, {failed} failed, {seconds:.0f} s\n")
    sys.stdout.flush()
