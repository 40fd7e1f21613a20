"""Rows as lines of text that both `COPY` and `LOAD DATA` read: values by Spark's own expressions, lines by the kernel.

Python only hands the bytes on: a batch of lines is one contiguous buffer in Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten as flat

if TYPE_CHECKING:
    import pyarrow

_TIME = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"
_NUMBERS = ("long", "integer", "short", "byte")


@dataclass(frozen=True)
class Spelling:
    """How a database reads the values that databases don't agree on."""

    zone: str = ""
    """What follows a timestamp, such as `+00`."""
    true_is_one: bool = False
    hex_mark: str = ""
    """What stands before hexadecimal digits, as Spark's SQL writes it."""

    def values(self, schema: dict[str, Any], names: tuple[str, ...]) -> list[str]:
        """The SQL expressions of a line's values, in the order of `names`: whole numbers and text, not yet escaped.

        >>> Spelling().values({"fields": [{"name": "n", "type": "long"}, {"name": "day", "type": "date"}]}, ("day", "n"))
        ['cast(`day` as string)', '`n`']
        """
        paths = {name: (path, kind) for name, path, kind in flat.columns(schema)}
        return [self._value(*paths[name]) for name in names]

    def hashed(self, schema: dict[str, Any], key: tuple[str, ...], retraction: str = "") -> str:
        """The SQL expression of a whole number that equal keys share; null for a row that is more than a new row of its key.

        >>> Spelling().hashed({"fields": [{"name": "n", "type": "long"}]}, ("n",))
        'if(`n` is null, null, xxhash64(`n`))'
        """
        paths = {name: path for name, path, _ in flat.columns(schema)}
        special = [f"{paths[name]} is null" for name in key]
        if retraction:
            special.append(f"coalesce({paths[retraction]}, false)")
        return f"if({' or '.join(special)}, null, xxhash64({', '.join(self.values(schema, key))}))"

    def _value(self, path: str, kind: Any) -> str:
        if isinstance(kind, dict) or kind == "variant":
            return flat.json_text(path)
        if kind in ("timestamp", "timestamp_ntz"):
            return f"concat(date_format({path}, {_TIME}), '{self.zone if kind == 'timestamp' else ''}')"
        if kind == "boolean" and self.true_is_one:
            return f"cast({path} as int)"
        if kind == "binary":
            return f"concat('{self.hex_mark}', hex({path}))"
        return path if kind in _NUMBERS else f"cast({path} as string)"


def content(batch: pyarrow.RecordBatch, place: int = 0) -> bytes:
    r"""The bytes of one column of a batch, as they lie in memory.

    >>> import pyarrow
    >>> content(pyarrow.record_batch({"line": ["1\n", "2\n", "3\n"]}).slice(1))
    b'2\n3\n'
    """
    column = batch.column(place)
    if len(column) == 0:
        return b""
    _, offsets, data = column.buffers()
    places = memoryview(offsets).cast("q" if "large" in str(column.type) else "i")
    return bytes(memoryview(data)[places[column.offset] : places[column.offset + len(column)]])
