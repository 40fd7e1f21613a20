"""`window`, `emit` and triggers in a document.

One table says what each word takes; reading, printing (`written`) and the JSON Schema all follow it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from headrace import triggers, windows
from headrace.errors import did_you_mean
from headrace.triggers import Emission, LateRows, Mode, Trigger
from headrace.windows import Order, Window
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.reading import Reader, fields, flag, one_entry, record, text, word
from headrace.yaml.tree import Entry, Fields, Items, Scalar, Value

ArgumentKind = Literal["length", "rows", "number", "expression", "order"]


@dataclass(frozen=True)
class WindowWord:
    """How one kind of window is written: its arguments, and the one a short form gives."""

    make: Callable[..., Window]
    kind: type[Window]
    arguments: dict[str, ArgumentKind]
    required: tuple[str, ...] = ()
    main: str = ""
    """The argument that stands alone in the short form: `{session: 30 seconds}`."""


WINDOWS: dict[str, WindowWord] = {
    "tumbling": WindowWord(
        windows.tumbling, windows.Tumbling, {"size": "length", "offset": "length"}, ("size",), "size"
    ),
    "sliding": WindowWord(
        windows.sliding, windows.Sliding, {"size": "length", "every": "length"}, ("size", "every")
    ),
    "session": WindowWord(windows.session, windows.Session, {"gap": "length"}, ("gap",), "gap"),
    "global": WindowWord(windows.global_window, windows.Global, {}),
    "count": WindowWord(
        windows.count,
        windows.Count,
        {"size": "rows", "every": "rows", "order": "order"},
        ("size",),
        "size",
    ),
    "delta": WindowWord(
        windows.delta,
        windows.Delta,
        {"of": "expression", "by": "number", "order": "order"},
        ("of", "by"),
    ),
    "punctuation": WindowWord(
        windows.punctuation,
        windows.Punctuation,
        {"when": "expression", "order": "order"},
        ("when",),
        "when",
    ),
    "landmark": WindowWord(
        windows.landmark,
        windows.Landmark,
        {"when": "expression", "reset": "length", "step": "length", "order": "order"},
    ),
    "trailing": WindowWord(windows.trailing, windows.Trailing, {"size": "length"}, ("size",), "size"),
}
_WINDOW_HINT = "such as {tumbling: 10 minutes} or {sliding: {size: 1 hour, every: 10 minutes}}"
_TRIGGER_HINT = "such as {every: 30 seconds} or {after_count: 100}"
LISTS: dict[str, Callable[..., Trigger]] = {
    "any_of": triggers.any_of,
    "all_of": triggers.all_of,
    "in_sequence": triggers.in_sequence,
}
TRIGGERS = ("every", "after_count", "after_watermark", *LISTS, "repeatedly", "or_finally")


def window(value: Value) -> Window:
    """The window that a document's `window:` says."""
    name, given = one_entry(value, wanted="one window", hint=_WINDOW_HINT)
    if name not in WINDOWS:
        where = value.key_at(name) if isinstance(value, Fields) else value.where
        fault(where, f"there is no window `{name}`", did_you_mean(name, WINDOWS))
    shape = WINDOWS[name]
    arguments = _arguments(name, shape, given)
    readers = {key: _READERS[kind] for key, kind in shape.arguments.items()}
    read = record(
        arguments, readers, f"the window `{name}`", required=shape.required, hint=_example(name, shape)
    )
    positional = [read.pop(shape.required[0])] if shape.required else []
    with at(given, inside=arguments):
        return shape.make(*positional, **read)


def emit(value: Value) -> Emission:
    """The emission that a document's `emit:` says, in the short or the long form."""
    given = fields(value, wanted="the keys of emit", hint="such as {lateness: 5 minutes, mode: retracting}")
    read = record(given, _EMIT, "emit")
    with at(given, inside=given):
        return triggers.emission(**read)


def trigger(value: Value) -> Trigger:
    """The trigger that a mapping of one entry says."""
    name, given = one_entry(value, wanted="one trigger", hint=_TRIGGER_HINT)
    if name not in TRIGGERS:
        where = value.key_at(name) if isinstance(value, Fields) else value.where
        fault(where, f"there is no trigger `{name}`", did_you_mean(name, TRIGGERS))
    if name in LISTS:
        return LISTS[name](*_triggers(given, name))
    if name == "or_finally":
        found = _triggers(given, name)
        if len(found) != 2:
            fault(
                given.where, f"expected two triggers, got {len(found)}", "write {or_finally: [this, until]}"
            )
        return triggers.or_finally(*found)
    if name == "repeatedly":
        return triggers.repeatedly(trigger(given))
    with at(given):
        return _simple(name, given)


def _simple(name: str, given: Value) -> Trigger:
    if name == "every":
        return triggers.every(text(given, wanted="a length of time"))
    if name == "after_count":
        return triggers.after_count(_rows(given))
    parts = fields(given, wanted="early and late", empty=True)
    return triggers.after_watermark(**record(parts, {"early": trigger, "late": trigger}, "after_watermark"))


def _triggers(value: Value, name: str) -> list[Trigger]:
    if not isinstance(value, Items) or not value.items:
        fault(
            value.where,
            f"expected a list of triggers, got {value}",
            f"write {{{name}: [{{every: 1 minute}}, ...]}}",
        )
    faults = Faults()
    found = [faults.attempt(trigger, item) for item in value.items]
    faults.raise_any()
    return [one for one in found if one is not None]


def _arguments(name: str, shape: WindowWord, given: Value) -> Fields:
    if isinstance(given, Scalar) and given.value is not None and shape.main:
        return Fields(given.where, {shape.main: Entry(given.where, given)})
    return fields(given, wanted=f"the arguments of `{name}`", hint=_example(name, shape), empty=True)


def _rows(value: Value) -> int:
    if not isinstance(value, Scalar) or isinstance(value.value, bool) or not isinstance(value.value, int):
        fault(value.where, f"expected a whole number of rows, got {value}")
    return value.value


def _number(value: Value) -> float:
    if (
        not isinstance(value, Scalar)
        or isinstance(value.value, bool)
        or not isinstance(value.value, int | float)
    ):
        fault(value.where, f"expected a number, got {value}")
    return value.value


def _example(name: str, shape: WindowWord) -> str:
    samples = {
        "length": "10 minutes",
        "rows": "100",
        "number": "5",
        "expression": "kind = 'end'",
        "order": "arrival",
    }
    if shape.main:
        return f"such as {{{name}: {samples[shape.arguments[shape.main]]}}}"
    wanted = shape.required or tuple(shape.arguments)[:1]
    return f"such as {{{name}: {{{', '.join(f'{k}: {samples[shape.arguments[k]]}' for k in wanted)}}}}}"


def _length(value: Value) -> str:
    return text(value, wanted="a length of time")


_READERS: dict[ArgumentKind, Reader] = {
    "length": _length,
    "rows": _rows,
    "number": _number,
    "expression": lambda value: text(value, wanted="Spark SQL text"),
    "order": lambda value: word(value, get_args(Order)),
}
_EMIT: dict[str, Reader] = {
    "early": trigger,
    "late": trigger,
    "trigger": trigger,
    "lateness": _length,
    "mode": lambda value: word(value, get_args(Mode)),
    "allow_loss": flag,
    "late_rows": lambda value: word(value, get_args(LateRows)),
}
