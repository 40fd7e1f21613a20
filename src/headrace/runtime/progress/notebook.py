"""The progress of a run in a notebook: one output that is updated in place."""

from __future__ import annotations

import time
from collections import deque
from html import escape
from typing import TYPE_CHECKING, Any

from headrace.runtime.progress.status_text import format_elapsed, format_rate, format_time

if TYPE_CHECKING:
    from headrace.runtime.progress.status import Status

_EVERY = 0.5
"""Seconds between two updates, because a browser draws each of them."""
_POINTS = 120
_CHART = (240, 36)
_CELL = "padding:1px 16px 1px 0;text-align:left;border:0"


class RunDisplay:
    """Shows the status of a run as HTML in one output of a cell."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = time.monotonic()
        self._drawn = 0.0
        self._rates: deque[float] = deque(maxlen=_POINTS)
        self._notes: list[str] = []
        self._handle: Any = None

    def note(self, text: str) -> None:
        """Add a line below the status."""
        self._notes.append(text)

    def phase(self, text: str) -> None:
        """Show a phase of the start."""
        self._show(self._page(text, ""))

    def status(self, status: Status) -> None:
        """Show a status, unless the last one was shown just before."""
        now = time.monotonic()
        if now - self._drawn < _EVERY:
            return
        self._drawn = now
        self._rates.append(status.rate)
        self._show(self._page(status.phase or "running", status_html(status, self._rates)))

    def end(self, status: Status, ending: str) -> None:
        """Show the last status and how the run ended."""
        self._notes += [f"warning: {warning}" for warning in status.warnings]
        self._show(self._page(ending, status_html(status, self._rates)))

    def fail(self, error: BaseException) -> None:
        """Show that the run failed; the error itself is raised."""
        self._show(self._page("failed", f'<div style="color:#c0392b">{escape(type(error).__name__)}</div>'))

    def _page(self, state: str, body: str) -> str:
        elapsed = format_elapsed(time.monotonic() - self._began)
        notes = "".join(f'<div style="opacity:.75">{escape(note)}</div>' for note in self._notes)
        head = f"<b>{escape(self._name)}</b> {escape(state)} · {elapsed}"
        return f'<div style="font-size:13px;line-height:1.5">{head}{body}{notes}</div>'

    def _show(self, page: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(page), display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(HTML(page))  # type: ignore[no-untyped-call]


def status_html(status: Status, rates: deque[float] | None = None) -> str:
    """Return a status as an HTML table, with the rows of each sink and a chart of the rates."""
    facts = {
        "rows in": f"{status.rows_in:,} ({format_rate(status.rate)})",
        "rows out": f"{status.rows_out:,}" if status.counted else "",
        "latency": f"{status.latency_ms:,.0f} ms" if status.latency_ms is not None else "",
        "watermark": format_time(status.watermark) if status.watermark else "",
        "in open windows": f"{status.in_open_windows:,}" if status.in_open_windows else "",
        "late": f"{status.late:,}" if status.late else "",
        "dropped": f"{status.dropped:,}" if status.dropped else "",
        "dead letters": f"{status.dead_letters:,}" if status.dead_letters else "",
    }
    sinks = {f"→ {name}": f"{rows:,} rows" for name, rows in status.sinks.items()}
    unrouted = {f"→ unrouted {name}": f"{rows:,} rows" for name, rows in status.unrouted.items() if rows}
    chart = _chart(rates) if rates is not None and len(rates) > 1 else ""
    return f"{_table(facts)}{_table(sinks | unrouted)}{chart}"


def _table(facts: dict[str, str]) -> str:
    rows = "".join(
        f'<tr><td style="{_CELL};opacity:.65">{escape(name)}</td><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in facts.items()
        if text
    )
    return f'<table style="border-collapse:collapse;font-size:13px">{rows}</table>' if rows else ""


def _chart(rates: deque[float]) -> str:
    """Return the rows per second over the last updates as a line."""
    width, height = _CHART
    top = max(rates) or 1.0
    step = width / (len(rates) - 1)
    points = " ".join(
        f"{number * step:.1f},{height - 2 - rate / top * (height - 4):.1f}"
        for number, rate in enumerate(rates)
    )
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="rows per second">'
        f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
        f'<span style="opacity:.65"> up to {format_rate(top)}</span>'
    )
