"""Rows without structs, for targets that have only plain columns: CSV files and database tables.

`window` becomes `window_start, window_end` (and `window_number` where it has one), `pane` becomes `pane_index`,
`pane_timing` and `pane_retraction`; any other struct, array or map becomes JSON text, an interval its text. How JSON and
CSV are spelled is told here once, for files, topics and columns alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.formats import Format

TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
LOCAL_TIME = TIME.removesuffix("'Z'")
"""Of a timestamp that has no zone."""
_TIMES = {"timestampFormat": TIME, "timestampNTZFormat": LOCAL_TIME}  # Spark's own leave microseconds out
JSON = {"ignoreNullFields": "false", **_TIMES}
_ENCODINGS = {"json": JSON, "csv": {"escape": '"', **_TIMES}}
_WORDS = {
    "delimiter": "sep",
    "quote": "quote",
    "escape": "escape",
    "header": "header",
    "null_text": "nullValue",
}
SPREAD = ("window", "pane")
"""The structs whose fields become columns of their own."""


def expressions(schema: dict[str, Any], *, text: bool) -> list[str]:
    """One SQL expression for each plain column, from Spark's JSON form of the frame's schema.

    Args:
        schema: `frame.schema.jsonValue()`.
        text: whether timestamps (as ISO text in UTC), dates and decimals become text; else they stay what they are.

    >>> expressions({"fields": [{"name": "n", "type": "long"}, {"name": "day", "type": "date"}]}, text=True)
    ['`n` as `n`', 'cast(`day` as string) as `day`']
    """
    return [f"{plain(path, kind, text)} as {quoted(name)}" for name, path, kind in columns(schema)]


def columns(schema: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, SQL path and Spark's JSON type of each plain column."""
    for column in schema["fields"]:
        yield from spread(column["name"], quoted(column["name"]), column["type"])


def spread(name: str, path: str, kind: Any) -> Iterator[tuple[str, str, Any]]:
    """The same of one column, which is at a path: itself, or what is in it."""
    if name in SPREAD and isinstance(kind, dict) and kind["type"] == "struct":
        for part in kind["fields"]:
            yield f"{name}_{part['name']}", f"{path}.{quoted(part['name'])}", part["type"]
    else:
        yield name, path, kind


def plain(path: str, kind: Any, text: bool) -> str:
    """A column as SQL, JSON where it is no plain value."""
    if isinstance(kind, dict) or kind == "variant":
        return json_text(path)
    if kind.startswith(("interval", "void")):
        return f"cast({path} as string)"
    if text and kind in ("timestamp", "timestamp_ntz"):
        return time_text(path, kind)
    if text and (kind == "date" or kind.startswith("decimal")):
        return f"cast({path} as string)"
    return path


def encoding(chosen: Format | None, name: str) -> dict[str, str]:
    """What Spark's writer of a format is told; `chosen` has options where the user gave some."""
    given = {key: str(getattr(chosen, word)) for word, key in _WORDS.items() if hasattr(chosen, word)}
    return _ENCODINGS.get(name, {}) | given


def sql_map(options: dict[str, str]) -> str:
    """Options as SQL functions take them.

    >>> sql_map({"sep": ";"})
    "map('sep', ';')"
    """
    return f"map({', '.join(literal(word) for pair in options.items() for word in pair)})"


def literal(value: str) -> str:
    """A text as a literal of SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def json_text(path: str) -> str:
    """A struct, array or map as JSON."""
    return f"to_json({path}, {sql_map(JSON)})"


def time_text(path: str, kind: str) -> str:
    """A timestamp as ISO text, in UTC if it has a zone at all."""
    return f"date_format({path}, {literal(TIME if kind == 'timestamp' else LOCAL_TIME)})"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
