"""Rows as text for `COPY` and `LOAD DATA`, formatted by Spark SQL.

Python only copies bytes: a batch of lines is one contiguous buffer in Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

_TIME = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True)
class TextForms:
    """The text forms of values that databases read differently."""

    zone: str = ""
    """Suffix of a timestamp, such as `+00`."""
    boolean: str = "string"
    """The Spark type that a boolean is cast to."""
    hex_prefix: str = ""

    def lines(self, frame: DataFrame, names: tuple[str, ...]) -> DataFrame:
        """Return one line per row: the row number, then the values of the named columns."""
        from pyspark.sql import functions as f

        paths = {name: (path, kind) for name, path, kind in flatten.columns(frame.schema.jsonValue())}
        number = f.monotonically_increasing_id().cast("string")
        values = [f.coalesce(self._text(*paths[name]), f.lit("\\N")) for name in names]
        return frame.select(f.concat(f.concat_ws("\t", number, *values), f.lit("\n")).alias("line"))

    def _text(self, path: str, kind: Any) -> Column:
        from pyspark.sql import functions as f

        if isinstance(kind, dict) or kind == "variant":
            return _escape(f.expr(flatten.json_text(path)))
        if kind in ("timestamp", "timestamp_ntz"):
            zone = self.zone if kind == "timestamp" else ""
            return f.concat(f.expr(f"date_format({path}, {_TIME})"), f.lit(zone))
        if kind == "binary":
            return f.concat(f.lit(self.hex_prefix), f.hex(f.expr(path)))
        if kind == "boolean":
            return f.expr(path).cast(self.boolean).cast("string")
        text = f.expr(path).cast("string")
        return _escape(text) if kind.startswith(("string", "char", "varchar")) else text


def _escape(text: Column) -> Column:
    from pyspark.sql import functions as f

    for special, escaped in _ESCAPES.items():
        text = f.replace(text, f.lit(special), f.lit(escaped))
    return text


def line_bytes(batch: pyarrow.RecordBatch) -> bytes:
    r"""Return the buffer of a batch's first column.

    >>> import pyarrow
    >>> line_bytes(pyarrow.record_batch({"line": ["1\n", "2\n", "3\n"]}).slice(1))
    b'2\n3\n'
    """
    column = batch.column(0)
    if len(column) == 0:
        return b""
    _, offsets, data = column.buffers()
    starts = memoryview(offsets).cast("q" if "large" in str(column.type) else "i")
    return bytes(memoryview(data)[starts[column.offset] : starts[column.offset + len(column)]])
