"""Rows without structs, for targets that have only plain columns: CSV files and database tables.

`window` becomes `window_start, window_end` (and `window_number` where it has one), `pane` becomes `pane_index`,
`pane_timing` and `pane_retraction`; any other struct, array or map becomes JSON text, an interval its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
SPREAD = ("window", "pane")
"""The structs whose fields become columns of their own."""


def expressions(schema: dict[str, Any], *, text: bool) -> list[str]:
    """One SQL expression for each plain column, from Spark's JSON form of the frame's schema.

    Args:
        schema: `frame.schema.jsonValue()`.
        text: whether timestamps (as ISO text in UTC), dates and decimals become text; else they stay what they are.

    >>> expressions({"fields": [{"name": "n", "type": "long"}, {"name": "tags", "type": {"type": "array"}}]}, text=True)
    ['`n` as `n`', 'to_json(`tags`) as `tags`']
    """
    return [f"{_plain(path, kind, text)} as {quoted(name)}" for name, path, kind in columns(schema)]


def columns(schema: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, SQL path and Spark's JSON type of each plain column."""
    for column in schema["fields"]:
        name, kind = column["name"], column["type"]
        if name in SPREAD and isinstance(kind, dict) and kind["type"] == "struct":
            for part in kind["fields"]:
                yield f"{name}_{part['name']}", f"{quoted(name)}.{quoted(part['name'])}", part["type"]
        else:
            yield name, quoted(name), kind


def _plain(path: str, kind: Any, text: bool) -> str:
    if isinstance(kind, dict) or kind == "variant":
        return f"to_json({path})"
    if kind.startswith(("interval", "void")):
        return f"cast({path} as string)"
    if text and kind in ("timestamp", "timestamp_ntz"):
        return f'date_format({path}, "{TIME}")'
    if text and (kind == "date" or kind.startswith("decimal")):
        return f"cast({path} as string)"
    return path


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
