"""Cells as transcripts: one file for each kind of window, one case for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.matrix.cells import KINDS, Cell, Kind, cells
from tests.support.matrix.expected import Outputs, told
from tests.support.matrix.streams import STREAMS, Advance, End, Kill, Line, Row, Rows, Watermark

DIRECTORY = Path(__file__).parents[2] / "transcripts" / "matrix"
TYPES = {"x": "double", "kind": "string"}
PLAIN = set(" =<>_.'()*")


def path_of(kind: Kind) -> Path:
    """Where the transcripts of a kind of window are."""
    return DIRECTORY / f"{kind.file}.yaml"


def texts() -> dict[Path, str]:
    """Every file of the matrix."""
    return {path_of(kind): text_of(kind) for kind in KINDS}


def text_of(kind: Kind) -> str:
    """The file of a kind of window."""
    allowed = [cell for cell in cells(kind) if not cell.refusal]
    return "\n".join([*_heading(kind), "---\n".join(map(case_of, allowed))])


def case_of(cell: Cell) -> str:
    """A cell as the text of a case."""
    return text_of_case(content_of(cell))


def text_of_case(content: Mapping[str, Any]) -> str:
    """A case as text: each part of its pipeline and each line of its script on a line."""
    lines = [
        f"name: {content['name']}",
        "pipeline:",
        *(f"  {name}: {flow(part)}" for name, part in content["pipeline"].items()),
        "script:",
        *(f"  - {line_of(line)}" for line in content["script"]),
    ]
    return "\n".join(lines) + "\n"


def content_of(cell: Cell) -> dict[str, Any]:
    """A cell as a case, before it is text."""
    return {"name": cell.name, "pipeline": document_of(cell), "script": list(_script(cell))}


def document_of(cell: Cell) -> dict[str, Any]:
    """The pipeline of a cell, also of one that is refused."""
    return {"sources": source_of(cell.kind), "steps": step_of(cell)}


def source_of(kind: Kind) -> dict[str, Any]:
    looked_at = f"{kind.looks_at} {TYPES[kind.looks_at]}, " if kind.looks_at else ""
    schema = f"k string, v int, {looked_at}ts timestamp"
    return {"s": {"memory": {}, "schema": schema, "event_time": {"column": "ts"}}}


def step_of(cell: Cell) -> dict[str, Any]:
    values = {"vs": "sort_array(collect_list(v))"}
    return {
        "out": {
            "from": "s",
            "key_by": "k",
            "window": cell.kind.window,
            "emit": cell.emit,
            "aggregate": values,
        }
    }


def stream_of(disorder: str) -> Iterator[str]:
    """A stream as lines of a script, with every column."""
    return (line_of(_done(line, ("x", "kind"))) for line in STREAMS[disorder])


def flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {flow(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str):
        return value if all(c.isalnum() or c in PLAIN for c in value) else f'"{value}"'
    return "null" if value is None else str(value).lower()


def _heading(kind: Kind) -> Iterator[str]:
    yield f"# {kind.name}: every trigger, mode and disorder. Written by `python -m tests.support.matrix`; don't edit."
    refused: dict[str, list[str]] = {}
    for cell in cells(kind):
        if cell.refusal and cell.trigger.name not in refused.setdefault(cell.refusal, []):
            refused[cell.refusal].append(cell.trigger.name)
    for text, names in refused.items():
        yield f"# Refused, in every mode: {', '.join(names)}."
        yield f"#   {text}"


def _script(cell: Cell) -> Iterator[dict[str, Any]]:
    """The lines, each followed by what it gives; a line that gives nothing is followed by no `expect`."""
    lines = told(cell, STREAMS[cell.disorder])
    due: Outputs = {"out": [], "out.late": []}
    for i, (line, given) in enumerate(lines):
        yield _done(line, (cell.kind.looks_at,) if cell.kind.looks_at else ())
        for name, rows in given.items():
            due[name] += rows
        dies = i + 1 < len(lines) and lines[i + 1][0] == Kill(before_commit=True)
        last = i + 1 == len(lines)
        if not dies and (last or any(due.values())):
            yield {"expect": {name: rows for name, rows in due.items() if rows or last}}
            due = {"out": [], "out.late": []}


def _done(line: Line, looked_at: tuple[str, ...]) -> dict[str, Any]:
    """A line of a stream as a line of a script."""
    match line:
        case Rows(rows):
            return {"rows": {"s": [_row(row, looked_at) for row in rows]}}
        case Advance(by):
            return {"advance": f"{by} seconds"}
    return without_rows(line)


def without_rows(line: Kill | End | Watermark) -> dict[str, Any]:
    """A line that every matrix has, as a line of a script."""
    match line:
        case Kill(before_commit):
            return {"restart": {"kill": "before_commit"} if before_commit else "kill"}
        case End():
            return {"end": True}
    return {"watermark": {"s": line.at}}


def _row(row: Row, looked_at: tuple[str, ...]) -> dict[str, Any]:
    return {"k": row.k, "v": row.v, **{name: getattr(row, name) for name in looked_at}, "ts": row.ts}


def line_of(line: Mapping[str, Any]) -> str:
    """A line of a script as text; rows that are expected stand one on a line if they are several."""
    [(word, content)] = line.items()
    if word != "expect" or sum(map(len, content.values())) <= 1:
        return f"{word}: {flow(content)}"
    lines = ["expect:"]
    for name, rows in content.items():
        listed = [f"      {name}:", *(f"        - {flow(row)}" for row in rows)]
        lines += listed if rows else [f"      {name}: []"]
    return "\n".join(lines)
