"""Check combinations of window, trigger, lateness and TTL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.steps.traits import Finding
from headrace.windows import Attached, Cumulating, Session, Sliding, Trailing, Tumbling, Window
from headrace.windows.triggers import AfterCount, AfterWatermark, Emission, parts_of

if TYPE_CHECKING:
    from headrace.windows.declare import WindowAggregate

_TRAILING_TRIGGERS = (AfterWatermark(), AfterWatermark(late=AfterCount(1)))
_END_BY_THEMSELVES = (Tumbling, Sliding, Cumulating, Attached, Session, Trailing)
_KEYS = ("emit", "window")
_NATIVE_KEYS = ("engine", "emit", "window")


def check_emission(window: Window, emission: Emission) -> Iterator[Finding]:
    """Yield the problems of a window with its trigger and lateness."""
    if emission.may_lose and not emission.allow_loss:
        hint = "wrap it in repeatedly(...), use late=after_count(1), or set allow_loss=True"
        yield Finding("this trigger may leave rows unemitted", hint, _KEYS)
    if window.order_dependent and (emission.lateness or getattr(emission.firing, "late", None) is not None):
        yield Finding(
            f"{window.kind} windows process rows in order, so they have no lateness and no late firings",
            "late rows are in .late; increase out_of_order to wait longer",
            _KEYS,
        )
    if isinstance(window, Trailing) and emission.firing not in _TRAILING_TRIGGERS:
        yield Finding(
            "a trailing window emits one result per row and accepts no trigger",
            "remove trigger, early and late; with lateness a late row fires",
            _KEYS,
        )


def check_native(window: Window, emission: Emission) -> Iterator[Finding]:
    """Yield the reasons why Spark's own operators cannot aggregate a window."""
    operators = 'engine="native" runs on Spark\'s own operators'
    if not isinstance(window, Tumbling | Sliding | Session):
        what = f"{operators}, which have no {window.kind} window"
        yield Finding(what, "remove engine", _NATIVE_KEYS)
    if not emission.fires_once:
        hint = "remove engine to have early and late firings"
        yield Finding(f"{operators}, which fire once, when the watermark passes", hint, _NATIVE_KEYS)


def check_ttl(window: Window, ttl: int | None) -> Iterator[Finding]:
    """Yield a problem if a window that ends by itself has a TTL."""
    if ttl is not None and isinstance(window, _END_BY_THEMSELVES):
        yield Finding(
            f"{window.kind} windows end by themselves, so they have no ttl",
            "remove ttl; size, lateness and out_of_order determine how long state is kept",
            ("ttl", "window"),
        )


def check_retractions(node: WindowAggregate, *, by_clock: bool) -> Iterator[Finding]:
    """Yield a problem if a window cannot process retractions."""
    window = node.window
    if isinstance(window, Session) and not node.emission.fires_once:
        what = "a session over a table fires once, when it closes"
        yield Finding(what, "remove early, late, lateness and trigger", ("emit", "window"))
    if window.order_dependent and (by_clock or getattr(window, "order", "") == "arrival"):
        what = f"{window.kind} windows in arrival order do not accept a table as input"
        yield Finding(what, "use event time, and remove order", ("window",))
    if node.native:
        what = 'engine="native" runs on Spark\'s own operators, which have no retractions'
        yield Finding(what, "remove engine", ("engine", "emit", "window"))


def moving_bounds(window: Window, emission: Emission) -> str | None:
    """Return why outdated panes stay in a sink with `window` in its key; None if bounds never change."""
    if emission.fires_once or emission.mode == "retracting":
        return None
    if isinstance(window, Session):
        return "a session that is merged into a longer one stays in `{}`"
    if window.order_dependent:
        return "a window ends at its last row, so each early pane has another `window` and stays in `{}`"
    return None


def late_trigger(window: Window, emission: Emission) -> Iterator[Finding]:
    """Yield a warning if an order-dependent window has late firings in its trigger."""
    parts = parts_of(emission.firing)
    if window.order_dependent and any(isinstance(p, AfterWatermark) and p.late is not None for p in parts):
        yield Finding(
            f"{window.kind} windows process rows in order, so the late part of the trigger never fires",
            "remove it; late rows are in .late",
        )
