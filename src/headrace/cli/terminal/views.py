"""Views of a run: a live line on a terminal, otherwise a status line at intervals, plain or JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from headrace.cli.terminal.output import err, out, print_lines, print_message
from headrace.cli.terminal.summary import Summary
from headrace.explain.text import text_of
from headrace.runtime.progress.live_line import LiveLine
from headrace.runtime.progress.status_text import status_text

if TYPE_CHECKING:
    from headrace.runtime.progress.status import Status


class View:
    """A view that shows only notes: `--quiet`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, status: Status) -> None:
        """Show the status of the run."""

    def note(self, text: str) -> None:
        """Show a message once."""
        print_message(text, "warn")

    def end(self, summary: Summary) -> None:
        """Show the summary of a run that has ended."""


class PlainView(View):
    """A line on standard error at intervals, for logs."""

    def __init__(self, name: str, period: float) -> None:
        self._name = name
        self._period = period
        self._started = time.monotonic()
        self._next = self._started + period

    def show(self, status: Status) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._period
            print_message(f"{self._name} {status_text(status, now - self._started)}")

    def end(self, summary: Summary) -> None:
        print_message(text_of(summary.lines()))


class JsonView(PlainView):
    """JSON lines on standard output: `event` is `status`, or `summary` for the last one."""

    def show(self, status: Status) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._period
            self._write("status", asdict(status))

    def end(self, summary: Summary) -> None:
        self._write("summary", summary.data())

    def _write(self, event: str, data: dict[str, Any]) -> None:
        seconds = round(time.monotonic() - self._started, 3)
        sys.stdout.write(
            json.dumps({"event": event, "pipeline": self._name, "seconds": seconds, **data}) + "\n"
        )
        sys.stdout.flush()


class LiveView(View):
    """A line that is redrawn; the output of the console sink scrolls above it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = time.monotonic()
        self._line = LiveLine(err(), catch_output=out().is_terminal)

    def __enter__(self) -> Self:
        self._line.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.__exit__(kind, error, trace)

    def show(self, status: Status) -> None:
        seconds = time.monotonic() - self._started
        mark = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(seconds * 4) % 10]
        self._line.draw(
            Text.assemble((f"{mark} ", "cyan"), (self._name, "bold"), " ", status_text(status, seconds))
        )

    def end(self, summary: Summary) -> None:
        print_lines(err(), summary.lines())


def view_for(name: str, *, period: float, quiet: bool, json: bool) -> View:
    """Return the view for the options and the terminal."""
    if json:
        return JsonView(name, period)
    if quiet:
        return View()
    return LiveView(name) if err().is_terminal else PlainView(name, period)
