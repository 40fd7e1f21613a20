"""SQL expressions that convert rows for targets with plain columns (CSV files, database tables) and for JSON.

`window` becomes `window_start, window_end` (and `window_number` if it has one), `pane` becomes `pane_index`,
`pane_timing` and `pane_retraction`; any other struct, array or map becomes JSON text. An interval of days to
seconds, such as `late_by`, becomes seconds, also in JSON. All sinks share the JSON and CSV options of this
module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.formats import Format

TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
LOCAL_TIME = TIME.removesuffix("'Z'")
"""The format of a timestamp without a zone."""
_TIMES = {"timestampFormat": TIME, "timestampNTZFormat": LOCAL_TIME}  # Spark's defaults omit microseconds
JSON = {"ignoreNullFields": "false", **_TIMES}
_ENCODINGS = {"json": JSON, "csv": {"escape": '"', **_TIMES}}
_OPTIONS = {
    "delimiter": "sep",
    "quote": "quote",
    "escape": "escape",
    "header": "header",
    "null_text": "nullValue",
}
_FLATTENED = ("window", "pane")
"""The structs whose fields become columns."""
_YEAR_MONTH = ("interval year", "interval month")
_SECONDS = "unix_micros(timestamp_micros(0) + {path}) / 1000000D"


def expressions(schema: dict[str, Any], *, text: bool) -> list[str]:
    """Return one SQL expression per plain column.

    Args:
        schema: `frame.schema.jsonValue()`.
        text: whether timestamps (as ISO text in UTC), dates and decimals become text.

    >>> expressions({"fields": [{"name": "n", "type": "long"}, {"name": "day", "type": "date"}]}, text=True)
    ['`n` as `n`', 'cast(`day` as string) as `day`']
    """
    return [f"{plain_value(path, kind, text)} as {quote_name(name)}" for name, path, kind in columns(schema)]


def json_expressions(schema: dict[str, Any]) -> list[str]:
    """Return one SQL expression per column, for a frame that is written as JSON.

    >>> json_expressions({"fields": [{"name": "late_by", "type": "interval day to second"}]})
    ['unix_micros(timestamp_micros(0) + `late_by`) / 1000000D as `late_by`']
    """
    return [
        f"{json_value(quote_name(field['name']), field['type'])} as {quote_name(field['name'])}"
        for field in schema["fields"]
    ]


def json_value(path: str, kind: Any) -> str:
    """Return the expression of a column inside JSON: seconds for an interval of days to seconds."""
    return _SECONDS.format(path=path) if _is_day_time(kind) else path


def columns(schema: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield name, SQL expression and Spark's JSON type of each plain column."""
    for column in schema["fields"]:
        yield from flatten_column(column["name"], quote_name(column["name"]), column["type"])


def flatten_column(name: str, path: str, kind: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the plain columns of one column: itself, its seconds, or the fields of a window or pane."""
    if name in _FLATTENED and isinstance(kind, dict) and kind["type"] == "struct":
        for part in kind["fields"]:
            yield f"{name}_{part['name']}", f"{path}.{quote_name(part['name'])}", part["type"]
    elif _is_day_time(kind):
        yield name, json_value(path, kind), "double"
    else:
        yield name, path, kind


def _is_day_time(kind: Any) -> bool:
    """Return True for intervals of days, hours, minutes and seconds."""
    return isinstance(kind, str) and kind.startswith("interval") and not kind.startswith(_YEAR_MONTH)


def plain_value(path: str, kind: Any, text: bool) -> str:
    """Return the expression of a column as a plain value; structs, arrays and maps as JSON."""
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
    """Return the options of Spark's writer for a format."""
    options = {
        key: str(getattr(chosen, option)) for option, key in _OPTIONS.items() if hasattr(chosen, option)
    }
    return _ENCODINGS.get(name, {}) | options


def sql_map(options: dict[str, str]) -> str:
    """Return options as the `map` that SQL functions take.

    >>> sql_map({"sep": ";"})
    "map('sep', ';')"
    """
    return f"map({', '.join(literal(word) for pair in options.items() for word in pair)})"


def literal(value: str) -> str:
    """Return text as an SQL literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def from_text(kind: str) -> str:
    r"""Return the expression that reads a type from text, with `{}` for the text; `json_text` writes it.

    A name in the type may contain quotes and braces.

    >>> from_text("bigint"), from_text("struct<`it's {x}`: int>").format("a")
    ('cast({} as bigint)', "from_json(a, 'struct<`it\\'s {x}`: int>')")
    """
    if not kind.lower().startswith(("array", "map", "struct")):
        return f"cast({{}} as {kind})"
    return f"from_json({{}}, {literal(kind).replace('{', '{{').replace('}', '}}')})"


def position_column(source: str, partition: str, offset: str) -> str:
    """Return the column `__position` of a row; partition and offset are SQL expressions.

    >>> position_column("tx", "''", "id")
    "struct('tx' as source, '' as partition, id as offset) as __position"
    """
    return f"struct({literal(source)} as source, {partition} as partition, {offset} as offset) as __position"


def text_schema(names: Iterable[str]) -> str:
    """Return the DDL of columns of type string.

    >>> text_schema(["card", "n"])
    '`card` string, `n` string'
    """
    return ", ".join(f"{quote_name(name)} string" for name in names)


def json_text(path: str) -> str:
    """Return a struct, array or map as JSON."""
    return f"to_json({path}, {sql_map(JSON)})"


def time_text(path: str, kind: str) -> str:
    """Return a timestamp as ISO text, in UTC if it has a zone."""
    return f"date_format({path}, {literal(TIME if kind == 'timestamp' else LOCAL_TIME)})"


def quote_name(name: str) -> str:
    """Return a name in backticks, so that a column such as `null` is not read as SQL."""
    return "`" + name.replace("`", "``") + "`"
