"""Cells as transcripts: one file for each quantifier, one case for each cell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.matrix.writing import line_of, text_of_case, without_rows
from tests.support.pattern_matrix.cells import QUANTIFIERS, WITHIN, Cell, Quantifier, cells
from tests.support.pattern_matrix.expected import told
from tests.support.pattern_matrix.streams import STREAMS, Line, Rows

DIRECTORY = Path(__file__).parents[2] / "transcripts" / "pattern_matrix"
SELECT = {name: f"transform({name}, r -> r.v)" for name in ("s", "a", "b")}


def path_of(quantifier: Quantifier) -> Path:
    """Where the transcripts of a quantifier are."""
    return DIRECTORY / f"{quantifier.file}.yaml"


def texts() -> dict[Path, str]:
    """Every file of the matrix."""
    return {path_of(quantifier): text_of(quantifier) for quantifier in QUANTIFIERS}


def text_of(quantifier: Quantifier) -> str:
    """The file of a quantifier."""
    said = "every contiguity, skip and disorder. Written by `python -m tests.support.pattern_matrix`; don't edit."
    allowed = [cell for cell in cells(quantifier) if not cell.refusal]
    refused = sorted(
        {f"# Refused after it: {cell.contiguity}." for cell in cells(quantifier) if cell.refusal}
    )
    return "\n".join([f"# {quantifier.name}: {said}", *refused, "---\n".join(map(case_of, allowed))])


def case_of(cell: Cell) -> str:
    """A cell as the text of a case."""
    return text_of_case(content_of(cell))


def content_of(cell: Cell) -> dict[str, Any]:
    """A cell as a case, before it is text."""
    return {"name": cell.name, "pipeline": document_of(cell), "script": list(_script(cell))}


def document_of(cell: Cell) -> dict[str, Any]:
    """The pipeline of a cell, also of one that is refused."""
    schema = "k string, v int, letter string, ts timestamp"
    match = {"steps": cell.steps, "within": f"{WITHIN} seconds", "skip": cell.written_skip, "select": SELECT}
    return {
        "sources": {"s": {"memory": {}, "schema": schema, "event_time": {"column": "ts"}}},
        "steps": {"out": {"from": "s", "key_by": "k", "match": match}},
    }


def stream_of(disorder: str) -> Iterator[str]:
    """A stream as lines of a script."""
    return (line_of(_done(line)) for line in STREAMS[disorder])


def _script(cell: Cell) -> Iterator[dict[str, Any]]:
    yield from (_done(line) for line in STREAMS[cell.disorder])
    yield {"expect": told(cell, STREAMS[cell.disorder])}


def _done(line: Line) -> dict[str, Any]:
    if isinstance(line, Rows):
        return {"rows": {"s": [{"k": r.k, "v": r.v, "letter": r.letter, "ts": r.ts} for r in line.rows]}}
    return without_rows(line)
