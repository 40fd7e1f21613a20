"""Prints rows on a terminal as one growing table, whose header is repeated when it has scrolled away."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_HEADER_EVERY = 40
_MAX_WIDTH = 32
_lock = threading.Lock()
_last_sink: list[str] = [""]
"""The sink whose rows were printed last; rows of another sink need a header."""

Cell = str | int | float | bool | None


class Screen:
    """Prints the rows of one sink."""

    def __init__(self, sink: str, console: Console | None = None) -> None:
        self._sink = sink
        self._console = console or Console()
        self._columns: tuple[str, ...] = ()
        self._widths: list[int] = []
        self._since_header = 0

    def show(
        self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, total: int, replace: bool
    ) -> None:
        """Print an epoch's rows.

        Args:
            columns: the names of the columns.
            rows: the rows to print.
            total: the number of rows of the epoch.
            replace: whether they replace the rows printed before; prints a new header.
        """
        texts = [[_text(value) for value in row] for row in rows]
        with _lock:
            due = replace or self._since_header >= _HEADER_EVERY or _last_sink[0] != self._sink
            if due or tuple(columns) != self._columns:
                self._print_header(columns, texts)
            if texts:
                self._console.print(self._table(texts))
            if total > len(rows):
                self._console.print(Text(f"  ... and {total - len(rows)} more", style="dim"))
            self._since_header += len(rows)
            _last_sink[0] = self._sink

    def _print_header(self, columns: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
        self._columns, self._since_header = tuple(columns), 0
        self._widths = [
            min(_MAX_WIDTH, max(len(name), *(len(row[index]) for row in texts), 1))
            for index, name in enumerate(columns)
        ]
        self._console.rule(Text(self._sink, style="bold"), align="left", style="dim")
        self._console.print(self._table([columns], style="bold"))

    def _table(self, rows: Sequence[Sequence[str]], style: str = "") -> Table:
        # The widths of the first rows apply to later rows, so that columns stay aligned.
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), style=style)
        for width in self._widths:
            table.add_column(width=width, no_wrap=True, overflow="ellipsis")
        for row in rows:
            table.add_row(*map(Text, row))
        return table


def _text(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value).removesuffix("Z").removesuffix(".000000")
