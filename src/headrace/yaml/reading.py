"""Values of the tree as what a key wants: text, a word, a flag, columns, named expressions.

Numbers and `true` serve where text is wanted (`rest: true`): what was written is the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.errors import did_you_mean
from headrace.steps.expressions import Named
from headrace.yaml.faults import Faults, fault
from headrace.yaml.tree import Fields, Items, Scalar, Value

Reader = Callable[[Value], Any]


def text(value: Value, *, wanted: str = "text") -> str:
    """A text that isn't empty."""
    if not isinstance(value, Scalar) or not value.text.strip() or value.value is None:
        fault(value.where, f"expected {wanted}, got {_shown(value)}")
    return value.text


def word(value: Value, known: Iterable[str]) -> str:
    """One of the known words."""
    words = tuple(known)
    found = text(value, wanted=f"one of {', '.join(words)}")
    if found not in words:
        fault(value.where, f"expected one of {', '.join(words)}, got `{found}`", did_you_mean(found, words))
    return found


def flag(value: Value) -> bool:
    """`true` or `false`."""
    if not isinstance(value, Scalar) or not isinstance(value.value, bool):
        fault(value.where, f"expected true or false, got {_shown(value)}")
    return value.value


def fields(value: Value, *, wanted: str, hint: str = "", empty: bool = False) -> Fields:
    """A mapping; with `empty`, nothing at all is an empty one."""
    if empty and isinstance(value, Scalar) and value.value is None:
        return Fields(value.where)
    if not isinstance(value, Fields):
        fault(value.where, f"expected {wanted}, got {_shown(value)}", hint)
    return value


def texts(value: Value, *, wanted: str) -> tuple[str, ...]:
    """One text or a list of them."""
    items = value.items if isinstance(value, Items) else (value,)
    if not items:
        fault(value.where, f"expected {wanted}, got an empty list")
    return tuple(text(item, wanted=wanted) for item in items)


def named(value: Value, *, wanted: str, hint: str) -> Named:
    """A mapping from name to expression."""
    found = fields(value, wanted=wanted, hint=hint)
    if not found:
        fault(value.where, f"expected {wanted}, got an empty mapping", hint)
    return tuple((name, text(found[name], wanted="Spark SQL text")) for name in found)


def columns(value: Value, *, wanted: str, hint: str) -> Named:
    """Expressions, some of them named: a text, a mapping, or a list of both. An unnamed one has the name ""."""
    if isinstance(value, Fields):
        return named(value, wanted=wanted, hint=hint)
    items = value.items if isinstance(value, Items) else (value,)
    if not items:
        fault(value.where, f"expected {wanted}, got an empty list", hint)
    found: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, Fields):
            found += named(item, wanted=wanted, hint=hint)  # type: ignore[arg-type]
        else:
            found.append(("", text(item, wanted=wanted)))
    return tuple(found)


def only(given: Fields, known: Mapping[str, object] | Iterable[str], what: str, faults: Faults) -> None:
    """Note every key that isn't known."""
    words = tuple(known)
    for key in given:
        if key not in words:
            faults.add(given.key_at(key), f"unknown key `{key}` in {what}", did_you_mean(key, words))


def record(
    given: Fields,
    readers: Mapping[str, Reader],
    what: str,
    *,
    required: Sequence[str] = (),
    hint: str = "",
) -> dict[str, Any]:
    """The values of a mapping whose keys are known, each read by its reader.

    Raises:
        DocumentError: keys are unknown or missing, or values wrong; all of them.
    """
    faults = Faults()
    only(given, readers, what, faults)
    for key in [key for key in required if key not in given]:
        faults.add(given.where, f"`{key}` of {what} is missing", hint)
    found = collected(given, readers, faults)
    faults.raise_any()
    return found


def collected(given: Fields, readers: Mapping[str, Reader], faults: Faults) -> dict[str, Any]:
    """The values of those keys that are there, each read by its reader; None where that went wrong."""
    return {key: faults.attempt(readers[key], given[key]) for key in given if key in readers}


def one_entry(value: Value, *, wanted: str, hint: str) -> tuple[str, Value]:
    """The key and value of a mapping of one entry; a bare word is a key with nothing behind it."""
    if isinstance(value, Scalar) and value.value is not None:
        return value.text, Scalar(value.where, "", None)
    if not isinstance(value, Fields) or len(value) != 1:
        got = (
            f"the keys {', '.join(value)}" if isinstance(value, Fields) and len(value) > 1 else _shown(value)
        )
        fault(value.where, f"expected {wanted}, got {got}", hint)
    [key] = value
    return key, value[key]


def _shown(value: Value) -> str:
    if isinstance(value, Scalar) and value.value is not None and not value.text.strip():
        return "an empty text"
    return str(value)
