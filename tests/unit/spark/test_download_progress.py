"""The bars of downloads: drawn on a terminal, absent elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from headrace.spark.download import Download
from headrace.spark.download_progress import progress

DOWNLOAD = Download("https://example.org/tool.jar", Path("tool.jar"), "0" * 64, 2_000_000)


@pytest.mark.parametrize("terminal", [True, False])
def test_bars_are_drawn_on_a_terminal_only(terminal: bool) -> None:
    screen = io.StringIO()
    with progress("jars", Console(file=screen, force_terminal=terminal, width=100)) as watch:
        watch(DOWNLOAD, 0)
        watch(DOWNLOAD, 2_000_000)
    assert ("jars tool.jar" in screen.getvalue()) == terminal
    assert ("2.0/2.0 MB" in screen.getvalue()) == terminal
