"""Shows results: a table that updates in place on a terminal, or rows as JSON lines or CSV."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Literal

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.cli.shell.results import Result, Row, format_cell
from headrace.cli.terminal.output import THEME
from headrace.runtime.progress.row_accounting import count_of

Format = Literal["table", "json", "csv"]
MAX_PRINTED = 1_000
"""The maximum number of rows of a table that is printed."""
_MARGIN = 6
"""Lines of the terminal that the live table leaves free."""


class LiveTable:
    """A table on the terminal that shows the result as it is, several times a second."""

    def __init__(self, result: Result, console: Console, *, bounded: bool) -> None:
        self._result = result
        self._console = console
        self._bounded = bounded
        self._live = (
            Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        )
        self._began = time.monotonic()

    def __enter__(self) -> LiveTable:
        (self._live or nullcontext()).__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def show(self, _: object = None) -> None:
        """Show the result as it is now."""
        if self._live is not None:
            self._live.update(self._content(), refresh=True)

    def _content(self) -> Group | Text:
        seconds = time.monotonic() - self._began
        count = count_of(self._result.count, "row")
        line = Text(f"{count} · {seconds:.0f} s · Ctrl-C ends the query", style="dim")
        if not self._result.columns or self._bounded:
            return line
        limit = max(1, self._console.height - _MARGIN)
        return Group(table_of(self._result.columns, list(self._result.rows(limit))), line)


def print_result(result: Result, console: Console) -> None:
    """Print the rows of a result and their number."""
    rows = list(result.rows(MAX_PRINTED))
    if result.columns:
        print_table(console, result.columns, rows)
    more = f", {len(rows):,} of them shown" if len(rows) < result.count else ""
    console.print(Text(f"{count_of(result.count, 'row')}{more}", style="dim"))


def print_table(console: Console, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print rows as a table, without spaces at the ends of lines in a pipe or a file."""
    if console.is_terminal:
        console.print(table_of(columns, rows))
        return
    with console.capture() as captured:
        console.print(table_of(columns, rows))
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)


def table_of(columns: Sequence[str], rows: Sequence[Row]) -> Table:
    """Return rows as a table; numbers are aligned to the right."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    for place, name in enumerate(columns):
        numbers = [row[place] for row in rows if row[place] is not None]
        is_number = bool(numbers) and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in numbers
        )
        table.add_column(Text(name), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(format_cell(value)) for value in row))
    return table


def csv_writer() -> Callable[[Sequence[str], Sequence[Row]], None]:
    """Return a function that prints the rows of an epoch as CSV, with a header before the first."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    header: list[Sequence[str]] = []

    def take(columns: Sequence[str], rows: Sequence[Row]) -> None:
        if not header:
            header.append(columns)
            writer.writerow(columns)
        writer.writerows([_csv_cell(value) for value in row] for row in rows)
        sys.stdout.flush()

    return take


def _csv_cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def console_of(width: int | None = None) -> Console:
    """Return the console of results."""
    return Console(theme=THEME, highlight=False, width=width)
