"""How rows look on a terminal: one table that grows, with its head said again when it has scrolled away."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_HEAD_EVERY = 40
_WIDEST = 32
_lock = threading.Lock()
_last_sink: list[str] = [""]
"""Whose rows were printed last: another sink's need their own head."""

Cell = str | int | float | bool | None


class Screen:
    """Prints the rows of one sink."""

    def __init__(self, sink: str, console: Console | None = None) -> None:
        self._sink = sink
        self._console = console or Console()
        self._columns: tuple[str, ...] = ()
        self._widths: list[int] = []
        self._since_head = 0

    def show(
        self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, total: int, afresh: bool
    ) -> None:
        """Print an epoch's rows.

        Args:
            columns: their names.
            rows: those to show.
            total: how many there were.
            afresh: whether they replace what was shown before, which a new head tells.
        """
        texts = [[_text(value) for value in row] for row in rows]
        with _lock:
            due = afresh or self._since_head >= _HEAD_EVERY or _last_sink[0] != self._sink
            if due or tuple(columns) != self._columns:
                self._head(columns, texts)
            if texts:
                self._console.print(self._table(texts))
            if total > len(rows):
                self._console.print(Text(f"  ... and {total - len(rows)} more", style="dim"))
            self._since_head += len(rows)
            _last_sink[0] = self._sink

    def _head(self, columns: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
        self._columns, self._since_head = tuple(columns), 0
        self._widths = [
            min(_WIDEST, max(len(name), *(len(row[place]) for row in texts), 1))
            for place, name in enumerate(columns)
        ]
        self._console.rule(Text(self._sink, style="bold"), align="left", style="dim")
        self._console.print(self._table([columns], style="bold"))

    def _table(self, rows: Sequence[Sequence[str]], style: str = "") -> Table:
        # The widths of the first rows hold for those to come, so that columns stay in line.
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
