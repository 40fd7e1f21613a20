"""Progress bars of downloads on standard error, if it is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from headrace.spark.download import Download, Watcher


@contextmanager
def progress(title: str, console: Console | None = None) -> Iterator[Watcher]:
    """Yield a watcher that shows one progress bar per file."""
    screen = console or Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[Path, TaskID] = {}
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bars:

        def watch(download: Download, done: int) -> None:
            if download.target not in tasks:
                name = f"{title} {download.target.name}"
                tasks[download.target] = bars.add_task(name, total=download.size)
            bars.update(tasks[download.target], completed=done)

        yield watch
