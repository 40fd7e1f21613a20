"""Describe windows, triggers and emissions."""

from __future__ import annotations

from headrace.durations import text
from headrace.triggers import (
    AfterCount,
    AfterWatermark,
    AllOf,
    AnyOf,
    Emission,
    Every,
    InSequence,
    OrFinally,
    Repeatedly,
    Trigger,
)
from headrace.windows import (
    Count,
    Delta,
    Global,
    Landmark,
    Punctuation,
    Session,
    Sliding,
    Trailing,
    Tumbling,
    Window,
)


def describe_window(window: Window) -> str:
    """Describe a window.

    >>> from headrace import windows
    >>> describe_window(windows.sliding("1 hour", every="10 minutes"))
    'sliding 1 hour every 10 minutes'
    """
    order = " in arrival order" if getattr(window, "order", "") == "arrival" else ""
    return f"{_window(window)}{order}"


def describe_trigger(trigger: Trigger, *, on_time: str = "at the watermark") -> str:  # noqa: PLR0911 - one for each kind
    """Describe a trigger; `on_time` is the phrase for the firing at the watermark.

    >>> from headrace import triggers
    >>> describe_trigger(triggers.any_of(triggers.every("1 minute"), triggers.after_count(1000)))
    'any of (every 1 minute, after 1000 rows)'
    """
    match trigger:
        case Every(period):
            return f"every {text(period)}"
        case AfterCount(rows):
            return "after each row" if rows == 1 else f"after {rows} rows"
        case AfterWatermark():
            return ", ".join(_watermark(trigger, on_time))
        case AnyOf(parts):
            return f"any of ({', '.join(map(describe_trigger, parts))})"
        case AllOf(parts):
            return f"all of ({', '.join(map(describe_trigger, parts))})"
        case InSequence(parts):
            return f"({', then '.join(map(describe_trigger, parts))})"
        case Repeatedly(inner):
            return f"repeatedly {describe_trigger(inner)}"
        case OrFinally(inner, until):
            return f"({describe_trigger(inner)}, until {describe_trigger(until)})"
        case _:
            return str(trigger)


def describe_emission(emission: Emission, window: Window) -> list[str]:
    """Describe the trigger, lateness and mode of a window in short phrases.

    >>> from headrace import windows
    >>> from headrace.triggers import emission
    >>> describe_emission(emission(lateness="5 minutes"), windows.tumbling("1 hour"))
    ['fires at the watermark, late after each row', 'lateness 5 minutes', 'accumulating']
    """
    phrases = [f"fires {describe_trigger(emission.trigger, on_time=_on_time(window))}"]
    if emission.lateness:
        phrases.append(f"lateness {text(emission.lateness)}")
    if not emission.fires_once or emission.mode != "accumulating":
        phrases.append(emission.mode)
    if emission.late_rows == "count":
        phrases.append("late rows are only counted")
    if emission.allow_loss and emission.may_lose:
        phrases.append("may leave rows unemitted")
    return phrases


def _on_time(window: Window) -> str:
    if window.order_dependent:
        return "when it closes"
    return "when the input ends" if isinstance(window, Global) else "at the watermark"


def _watermark(trigger: AfterWatermark, on_time: str) -> list[str]:
    early = [f"early {describe_trigger(trigger.early)}"] if trigger.early else []
    late = [f"late {describe_trigger(trigger.late)}"] if trigger.late else []
    return [*early, on_time, *late]


def _window(window: Window) -> str:  # noqa: PLR0911 - one for each kind
    match window:
        case Tumbling(size, offset):
            return f"tumbling {text(size)}" + (f" offset {text(offset)}" if offset else "")
        case Sliding(size, every):
            return f"sliding {text(size)} every {text(every)}"
        case Session(gap):
            return f"session, gap {text(gap)}"
        case Global():
            return "global window"
        case Count(size, every):
            return f"count {size}" + (f" every {every}" if every != size else "")
        case Delta(of, by):
            return f"delta of {of} by {by:g}"
        case Punctuation(when):
            return f"up to each row with {when}"
        case Landmark(when, reset, step):
            return (
                f"from each row with {when}" if when else f"from each {text(reset)}, in steps of {text(step)}"
            )
        case Trailing(size):
            return f"trailing {text(size)} of each row"
        case _:
            return repr(window)
