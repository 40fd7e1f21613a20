"""Prints epochs on standard output."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors import flatten
from headrace.connectors.base import WriteContext
from headrace.connectors.console.screen import Screen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.connectors.console import Console


@dataclass(frozen=True)
class _Collected:
    """The number of rows of an epoch, and the ones to print."""

    rows: int
    columns: tuple[str, ...]
    content: list[tuple[Any, ...]]


class ConsoleWriter:
    """Prints rows; has no ledger."""

    def __init__(self, options: Console) -> None:
        self._options = options
        self._screen: Screen | None = None
        self._mode = "append"

    def open(self, context: WriteContext) -> int:
        style, self._mode = self._options.style, context.mode
        if style == "table" or (style == "auto" and sys.stdout.isatty()):
            self._screen = Screen(context.sink)
        return -1

    def stage(self, epoch: int, frame: DataFrame) -> _Collected:
        return self._lines(frame) if self._screen is None else self._cells(frame)

    def commit(self, epoch: int, staged: _Collected) -> None:
        if self._screen is None:
            sys.stdout.write("".join(f"{line}\n" for (line,) in staged.content))
            sys.stdout.flush()
        elif staged.rows:
            replace = self._mode == "complete"
            self._screen.show(staged.columns, staged.content, total=staged.rows, replace=replace)

    def close(self) -> None:
        self._screen = None

    def _lines(self, frame: DataFrame) -> _Collected:
        from pyspark.sql import functions as f

        columns = frame.selectExpr(*flatten.json_expressions(frame.schema.jsonValue()))
        table = columns.select(f.to_json(f.struct("*"), flatten.JSON).alias("line")).toArrow()
        return _Collected(table.num_rows, ("line",), [(line,) for line in table.column(0).to_pylist()])

    def _cells(self, frame: DataFrame) -> _Collected:
        """Collect the first rows of each partition; a `limit` would not compute all rows."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        observed = Observation()
        counted = frame.observe(observed, f.count(f.lit(1)).alias("rows"))
        in_partition = f.monotonically_increasing_id().bitwiseAND((1 << 33) - 1)
        first_rows = counted.where(in_partition < self._options.limit)
        table = first_rows.selectExpr(*flatten.expressions(frame.schema.jsonValue(), text=True)).toArrow()
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return _Collected(int(observed.get["rows"]), tuple(table.column_names), rows[: self._options.limit])
