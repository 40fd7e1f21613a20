"""Reads the rows of unrouted side outputs from a checkpoint directory: dead letters, late data, timeouts."""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.dashboard.formatting import duration
from headrace.runtime.unrouted import DIRECTORY

KINDS = {"dead_letters": "dead letters", "late": "late data", "timeouts": "timeouts", "faults": "faults"}
_LAST_FILES = 200
"""Files that are read, newest first; a page shows the newest rows."""
PAYLOADS = 100
"""Payloads that a test starts with."""


@dataclass(frozen=True)
class SideOutput:
    """A stored side output, as `step.output`."""

    name: str
    files: int

    @property
    def kind(self) -> str:
        """The words for its rows."""
        return KINDS.get(self.name.rpartition(".")[2], "rows")


@dataclass(frozen=True)
class StoredRow:
    """One row: the reason it was diverted, a one-line summary, and all values."""

    reason: str
    summary: str
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Payloads:
    """Payloads of dead letters, as lines of sample rows for a source."""

    source: str
    lines: str
    count: int
    unreadable: int
    """Payloads that are not text, which were left out."""
    stored: int
    """Dead letters in the files that were read."""


def list_side_outputs(checkpoint: Path) -> list[SideOutput]:
    """Return the stored side outputs of a checkpoint, those with rows first."""
    places = sorted(path for path in (checkpoint / DIRECTORY).glob("*.*") if path.is_dir())
    outputs = [SideOutput(place.name, len(list(place.glob("*.json")))) for place in places]
    return sorted(outputs, key=lambda output: output.files == 0)


def read_rows(checkpoint: Path, name: str, *, search: str = "", limit: int = 200) -> list[StoredRow]:
    """Return the newest rows of a side output whose text contains `search`, newest first."""
    known = {output.name for output in list_side_outputs(checkpoint)}  # never a path of the request
    if name not in known:
        return []
    lines = (line for line in _lines(checkpoint / DIRECTORY / name) if search.lower() in line.lower())
    return [_row(json.loads(line)) for line in reversed(deque(lines, maxlen=limit))]


def read_payloads(checkpoint: Path, name: str, *, limit: int = PAYLOADS) -> Payloads | None:
    """Return the payloads of the newest dead letters of a source as lines of sample rows, oldest first.

    None if there are none.

    A payload with line breaks is written as a JSON string. Payloads that are not text are counted only.
    """
    known = {output.name for output in list_side_outputs(checkpoint)}  # never a path of the request
    stored = [json.loads(line) for line in _lines(checkpoint / DIRECTORY / name)] if name in known else []
    raw = [row["raw"] for row in stored if row.get("raw") is not None]
    if not raw:
        return None
    texts = [_payload(value) for value in raw[-limit:]]
    lines = [_as_line(text) for text in texts if text is not None]
    return Payloads(name.rpartition(".")[0], "\n".join(lines), len(lines), texts.count(None), len(raw))


def _payload(raw: str) -> str | None:
    try:
        return base64.b64decode(raw, validate=True).decode()
    except ValueError:
        return None


def _as_line(text: str) -> str:
    plain = text == text.strip() and len(text.splitlines()) == 1 and not text.startswith('"')
    return text if plain else json.dumps(text, ensure_ascii=False)


def _lines(directory: Path) -> Iterator[str]:
    files = sorted(directory.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in files[-_LAST_FILES:]:
        content = file.read_text(errors="replace")
        yield from (line for line in content.split("\n") if line)  # a text may contain U+2028


def _row(content: dict[str, Any]) -> StoredRow:
    values = {name: _text(name, value) for name, value in content.items() if value is not None}
    reason = values.pop("reason", "")
    if reason == "too_late" and isinstance(content.get("late_by"), int | float):
        reason = f"late by {duration(content['late_by'])}"
    summary = values.get("raw") or ", ".join(f"{name}={value}" for name, value in values.items())
    return StoredRow(reason, summary, values)


def _text(name: str, value: Any) -> str:
    if name == "raw" and isinstance(value, str):  # binary columns are base64 in JSON
        try:
            return base64.b64decode(value, validate=True).decode(errors="replace")
        except ValueError:
            return value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
