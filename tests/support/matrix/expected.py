"""Expected outputs of a cell, line by line: the window model applied to the stream of the cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from docs.playground.model.windows import END, NEVER, model

from tests.support.matrix.cells import Cell
from tests.support.matrix.streams import Advance, End, Kill, Line, Row, Rows, Watermark

SECOND = 1_000_000
KEYS = ("a", "b")
OPENS = {"punctuation": "end", "landmark": "open"}
LENGTHS = ("size", "every", "offset", "reset", "step", "gap")

Outputs = dict[str, list[dict[str, Any]]]


def expected_outputs(cell: Cell, stream: Sequence[Line]) -> list[tuple[Line, Outputs]]:
    """Each line of a stream, and what the step gives for it.

    A death changes nothing: that is what it shows.
    """
    spec = specification(cell)
    models = {key: model(spec) for key in KEYS}
    times = {row.v: row.ts for line in stream if isinstance(line, Rows) for row in line.rows}
    clock, actual = 0, []
    for line in stream:
        clock += line.by * SECOND if isinstance(line, Advance) else 0
        mark = _watermark(line)
        out: Outputs = {"out": [], "out.late": []}
        for key, message in models.items() if not isinstance(line, Kill) else ():
            rows = [row for row in line.rows if row.k == key] if isinstance(line, Rows) else []
            for emitted in message.batch([_to_model_row(cell, row) for row in rows], mark, clock):
                name, shown = _format_pane(cell, key, emitted, message.watermark, times)
                out[name].append(shown)
        actual.append((line, out))
    return actual


def specification(cell: Cell) -> dict[str, Any]:
    """A cell as the model reads it: lengths of time in microseconds."""
    emit = cell.emit
    lateness = _micros(emit.get("lateness", "0 seconds"))
    late = emit.get("late") or ({"after_count": 1} if lateness else None)
    short = {name: part for name, part in (("early", emit.get("early")), ("late", late)) if part}
    return {
        "window": _window(cell),
        "trigger": _trigger(emit.get("trigger", {"after_watermark": short})),
        "mode": cell.mode,
        "lateness": lateness,
    }


def _window(cell: Cell) -> dict[str, Any]:
    [(word, options)] = cell.kind.window.items()
    if word == "count":
        sizes = options if isinstance(options, dict) else {"size": options}
        return {"kind": word, **sizes}
    if isinstance(options, str):
        plain = {"session": "gap"}.get(word, "size")
        return {"kind": word} if word in OPENS else {"kind": word, plain: _micros(options)}
    return {"kind": word} | {
        name: _micros(value) if name in LENGTHS else value for name, value in options.items()
    }


def _trigger(options: Mapping[str, Any]) -> dict[str, Any]:
    [(word, arg)] = options.items()
    if word == "every":
        return {word: _micros(arg)}
    if word == "after_watermark":
        return {word: {name: _trigger(part) for name, part in arg.items()}}
    if isinstance(arg, list):
        return {word: [_trigger(part) for part in arg]}
    return {word: _trigger(arg) if word == "repeatedly" else arg}


def _micros(text: str) -> int:
    return int(text.removesuffix(" seconds")) * SECOND


def _watermark(line: Line) -> int | None:
    if isinstance(line, End):
        return END
    return int(line.at * SECOND) if isinstance(line, Watermark) else None


def _to_model_row(cell: Cell, row: Row) -> tuple[float | None, Any, Any]:
    """A row as the model takes it."""
    mark = row.x if cell.kind.word == "delta" else row.kind == OPENS.get(cell.kind.word)
    return (None if row.ts is None else int(row.ts * SECOND), row.v, mark)


def _format_pane(
    cell: Cell, key: str, emitted: Mapping[str, Any], watermark: float, times: Mapping[int, float | None]
) -> tuple[str, dict[str, Any]]:
    if emitted["output"] == "late":
        return "out.late", _late(key, emitted, watermark, times[emitted["value"]])
    start, end, number = emitted["window"]
    carried = {"v": emitted["value"]} if "value" in emitted else {}
    return "out", {
        "k": key,
        **carried,
        "window": _bounds(start, end) | ({"number": number} if cell.kind.ordered else {}),
        "vs": emitted["values"],
        "pane": {name: emitted[name] for name in ("index", "timing", "retraction")},
    }


def _late(key: str, emitted: Mapping[str, Any], watermark: float, ts: float | None) -> dict[str, Any]:
    """Return a late row; at the end of the input the watermark has no meaning."""
    known = watermark != NEVER
    by = {"late_by": None if ts is None or not known else _seconds(watermark - ts * SECOND)}
    mark = {"watermark": _seconds(watermark) if known else None}
    ended = watermark >= END
    return {
        "k": key,
        "v": emitted["value"],
        **({} if ended else by),
        "window": emitted["window"] and _bounds(*emitted["window"]),
        **({} if ended else mark),
        "reason": emitted["reason"],
    }


def _bounds(start: float, end: float) -> dict[str, Any]:
    """`global_window()` has none."""
    return {"start": None, "end": None} if end == END else {"start": _seconds(start), "end": _seconds(end)}


def _seconds(micros: float) -> float:
    return int(micros // SECOND) if micros % SECOND == 0 else micros / SECOND
