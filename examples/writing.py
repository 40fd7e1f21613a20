"""Write the files of the examples, reproducibly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def instant(seconds: float, *, start: str = "2026-03-02T09:00:00") -> str:
    """Return the time some seconds after the start, as ISO text in UTC.

    >>> instant(1.5)
    '2026-03-02T09:00:01.500000Z'
    """
    moment = datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp() + seconds
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return one JSON object per line."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return CSV without a header, with the values in the order of each row."""
    return "".join(",".join(str(value) for value in row.values()) + "\n" for row in rows)


def write_all(directory: Path, files: Mapping[str, str]) -> None:
    """Write each text to its file."""
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
