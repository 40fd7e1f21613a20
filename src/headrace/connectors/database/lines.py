"""Rows as lines of text that both `COPY` and `LOAD DATA` read: made by Spark's own expressions, in the JVM.

Python only hands the bytes on: a batch of lines is one contiguous buffer in Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors import flat

if TYPE_CHECKING:
    import pyarrow

# As Spark's SQL writes them: a backslash is two.
_NULL = r"'\\N'"
_TAB, _END = r"'\t'", r"'\n'"
_ESCAPES = ((r"'\\'", r"'\\\\'"), (_TAB, r"'\\t'"), (_END, r"'\\n'"), (r"'\r'", r"'\\r'"))
_TIME = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"


@dataclass(frozen=True)
class Spelling:
    """How a database reads the values that databases don't agree on."""

    zone: str = ""
    """What follows a timestamp, such as `+00`."""
    true_is_one: bool = False
    hex_mark: str = ""
    """What stands before hexadecimal digits, as Spark's SQL writes it."""

    def line(self, schema: dict[str, Any], names: tuple[str, ...]) -> str:
        r"""The SQL expression of a row's line: its number within the batch, then its columns, in the order of `names`.

        >>> print(Spelling().line({"fields": [{"name": "n", "type": "long"}]}, ("n",)))
        concat(monotonically_increasing_id(), '\t', coalesce(cast(`n` as string), '\\N'), '\n')
        """
        paths = {name: (path, kind) for name, path, kind in flat.columns(schema)}
        values = [f"{_TAB}, coalesce({self._text(*paths[name])}, {_NULL})" for name in names]
        return f"concat({', '.join(['monotonically_increasing_id()', *values, _END])})"

    def _text(self, path: str, kind: Any) -> str:
        if isinstance(kind, dict) or kind == "variant":
            return _escaped(f"to_json({path})")
        if kind in ("timestamp", "timestamp_ntz"):
            return f"concat(date_format({path}, {_TIME}), '{self.zone if kind == 'timestamp' else ''}')"
        if kind == "boolean" and self.true_is_one:
            return f"cast(cast({path} as int) as string)"
        if kind == "binary":
            return f"concat('{self.hex_mark}', hex({path}))"
        text = f"cast({path} as string)"
        return _escaped(text) if kind.startswith(("string", "char", "varchar")) else text


def content(batch: pyarrow.RecordBatch) -> bytes:
    r"""The bytes of a batch of lines, as they lie in memory.

    >>> import pyarrow
    >>> content(pyarrow.record_batch({"line": ["1\n", "2\n", "3\n"]}).slice(1))
    b'2\n3\n'
    """
    column = batch.column(0)
    if len(column) == 0:
        return b""
    _, offsets, data = column.buffers()
    places = memoryview(offsets).cast("q" if "large" in str(column.type) else "i")
    return bytes(memoryview(data)[places[column.offset] : places[column.offset + len(column)]])


def _escaped(text: str) -> str:
    for special, written in _ESCAPES:
        text = f"replace({text}, {special}, {written})"
    return text
