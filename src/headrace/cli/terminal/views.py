"""What is seen of a run while it runs: one live line on a terminal, else a line now and then, plain or JSON."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from headrace.cli.terminal.live_line import LiveLine
from headrace.cli.terminal.output import err, out, print_lines, say
from headrace.cli.terminal.summary import Summary, moment, per_second
from headrace.explain.text import text_of

if TYPE_CHECKING:
    from headrace.runtime.progress import Status


class View:
    """A view that shows nothing but what the user must know: `--quiet`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, status: Status) -> None:
        """Show how far the run is."""

    def note(self, text: str) -> None:
        """Tell the user something once."""
        say(text, "warn")

    def end(self, summary: Summary) -> None:
        """Show the summary of a run that has ended."""


class PlainView(View):
    """A line on standard error every so often: for logs."""

    def __init__(self, name: str, period: float) -> None:
        self._name = name
        self._period = period
        self._started = time.monotonic()
        self._next = self._started + period

    def show(self, status: Status) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._period
            say(f"{self._name} {status_text(status, now - self._started)}")

    def end(self, summary: Summary) -> None:
        say(text_of(summary.lines()))


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
    """One line that is drawn again and again; what the console sink prints scrolls by above it."""

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
    """The view that fits where the output goes."""
    if json:
        return JsonView(name, period)
    if quiet:
        return View()
    return LiveView(name) if err().is_terminal else PlainView(name, period)


def status_text(status: Status, seconds: float) -> str:
    """A status in one line."""
    parts = [
        _clock(seconds),
        f"in {status.rows_in:,} ({per_second(status.rate)})",
        f"out {status.rows_out:,}" if status.counted else "",
        f"latency {status.latency_ms:,.0f} ms" if status.latency_ms is not None else "",
        f"watermark {moment(status.watermark)}" if status.watermark else "",
        f"open {status.open:,}" if status.steps else "",
        f"late {status.late:,}" if status.counted else "",
        f"lost {status.lost:,}" if status.lost else "",
        f"dead letters {status.dead_letters:,}" if status.counted else "",
    ]
    return " · ".join(part for part in parts if part)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
