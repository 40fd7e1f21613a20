"""Windows, triggers and emissions as a document says them: the way back from `windowing`."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace import triggers
from headrace.durations import text as length
from headrace.triggers import Emission, Trigger
from headrace.windows import Count, Window
from headrace.yaml.windowing import WINDOWS

_LIST_WORDS = {triggers.AnyOf: "any_of", triggers.AllOf: "all_of", triggers.InSequence: "in_sequence"}


def window_of(window: Window) -> dict[str, Any]:
    """What a document says for a window; the short form where it will do.

    >>> from headrace import windows
    >>> window_of(windows.sliding("1 hour", every="10 minutes"))
    {'sliding': {'size': '1 hour', 'every': '10 minutes'}}
    """
    name, shape = next((name, shape) for name, shape in WINDOWS.items() if shape.kind is type(window))
    given = {f.name: getattr(window, f.name) for f in dataclasses.fields(window)}
    defaults = {f.name: f.default for f in dataclasses.fields(window)}
    if isinstance(window, Count):
        defaults["every"] = window.size
    shown = {
        key: length(given[key]) if kind == "length" else given[key]
        for key, kind in shape.arguments.items()
        if given[key] != defaults[key]
    }
    return {name: shown[shape.main] if set(shown) == {shape.main} else shown}


def emit_of(emission: Emission) -> dict[str, Any]:
    """What a document says for an emission: nothing for the default, the short form where it will do.

    >>> emit_of(triggers.emission(early=triggers.every("30 seconds"), lateness="5 minutes"))
    {'early': {'every': '30 seconds'}, 'lateness': '5 minutes'}
    """
    shown = _when(emission)
    if emission.lateness:
        shown["lateness"] = length(emission.lateness)
    if emission.mode != "accumulating":
        shown["mode"] = emission.mode
    if emission.allow_loss:
        shown["allow_loss"] = True
    if emission.late_rows != "divert":
        shown["late_rows"] = emission.late_rows
    return shown


def trigger_of(trigger: Trigger) -> dict[str, Any]:
    """What a document says for a trigger.

    >>> trigger_of(triggers.repeatedly(triggers.after_count(10)))
    {'repeatedly': {'after_count': 10}}
    """
    match trigger:
        case triggers.Every(period):
            return {"every": length(period)}
        case triggers.AfterCount(rows):
            return {"after_count": rows}
        case triggers.AfterWatermark(early, late):
            parts = {"early": early, "late": late}
            return {"after_watermark": {key: trigger_of(part) for key, part in parts.items() if part}}
        case triggers.Repeatedly(inner):
            return {"repeatedly": trigger_of(inner)}
        case triggers.OrFinally(inner, until):
            return {"or_finally": [trigger_of(inner), trigger_of(until)]}
        case triggers.AnyOf(several) | triggers.AllOf(several) | triggers.InSequence(several):
            return {_LIST_WORDS[type(trigger)]: [trigger_of(one) for one in several]}
        case _:
            raise TypeError(f"no document can say {trigger!r}")


def _when(emission: Emission) -> dict[str, Any]:
    trigger, implied = emission.trigger, triggers.AfterCount(1) if emission.lateness else None
    if not isinstance(trigger, triggers.AfterWatermark) or (trigger.late is None and implied is not None):
        return {"trigger": trigger_of(trigger)}
    late = None if trigger.late == implied else trigger.late
    parts = {"early": trigger.early, "late": late}
    return {key: trigger_of(part) for key, part in parts.items() if part is not None}
