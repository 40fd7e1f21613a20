"""Rows of a stream, shown by a notebook or printed as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.html_tables import format_value, rows_table
from headrace.runtime.progress.live import in_notebook


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Show rows.

    Args:
        rows: the rows.
        columns: the names of the columns if there are no rows.
    """
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(rows_table(rows)))  # type: ignore[no-untyped-call]
        return
    names = list(rows[0]) if rows else list(columns)
    table = Table(*names, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(format_value(row[name])) for name in names))
    Console(soft_wrap=True).print(table)
