"""`match` in a document: steps, `within`, `skip`, `order`, `select`, `late_rows` and `timeouts`.

`steps` is a list of one-key maps from a step's name to its condition, or to a map that says how it follows and how often
it comes. The value of the verb is a condition, a list of steps (a group) or `{either: [...]}`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from headrace.durations import microseconds
from headrace.errors import did_you_mean
from headrace.patterns.building import Pattern
from headrace.patterns.elements import (
    Contiguity,
    Either,
    Element,
    Group,
    Order,
    Skip,
    SkipKind,
    Times,
    Where,
    Within,
    skip_of,
)
from headrace.steps.base import Ref
from headrace.steps.expressions import Named
from headrace.steps.patterns.match import Match
from headrace.triggers import LateRows
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.reading import Reader, fields, flag, named, only, record, text, word
from headrace.yaml.tree import Fields, Items, Scalar, Value

FIRST = "where"
VERBS = tuple(word for word in get_args(Contiguity) if word != "first")
FLAGS = ("one_or_more", "optional", "greedy", "consecutive", "combinations")
QUANTIFIERS = ("times", *FLAGS, "until", "gap")
_TIMES_HINT = "such as times: 3, times: {from: 2, to: 4} or, without an end, times: {from: 2}"
_STEPS_HINT = "such as steps: [{small: amount < 1}, {large: {followed_by: amount > 500}}]"


def match(value: Value, keys: Named) -> Callable[[str, Ref], Match]:
    """What makes the node of a `match`, from its name and input."""
    given = fields(value, wanted="the keys of match", hint=_STEPS_HINT)
    read = record(given, MATCH, "match", required=("steps",), hint=_STEPS_HINT)
    pattern = Pattern(read["steps"])
    options = {key: value for key, value in read.items() if key != "steps"}

    def make(name: str, ref: Ref) -> Match:
        return Match(name, ref, keys, pattern, **options)

    return make


def steps(value: Value) -> tuple[Element, ...]:
    """A list of steps; the first of them says no verb."""
    if not isinstance(value, Items) or not value.items:
        got = "an empty list" if isinstance(value, Items) else value
        fault(value.where, f"expected a list of steps, got {got}", _STEPS_HINT)
    faults = Faults()
    found = [faults.attempt(_step, item, first=place == 0) for place, item in enumerate(value.items)]
    faults.raise_any()
    return tuple(element for element in found if element is not None)


def _step(value: Value, *, first: bool) -> Element:
    given = fields(value, wanted="a step's name and its condition", hint=_STEPS_HINT)
    if len(given) != 1:
        fault(given.where, f"expected one step, got the keys {', '.join(given)}", _STEPS_HINT)
    [name] = given
    content = given[name]
    if not isinstance(content, Fields):
        if not first:
            hint = f"such as {{{name}: {{followed_by: ...}}}}; verbs: {', '.join(VERBS)}"
            fault(content.where, f"nothing says how `{name}` follows the step before it", hint)
        return Element(name, "first", _body(content))
    return _long(name, content, first)


def _long(name: str, given: Fields, first: bool) -> Element:
    faults = Faults()
    only(given, (FIRST, *VERBS, *QUANTIFIERS), f"the step `{name}`", faults)
    verbs = [key for key in (FIRST, *VERBS) if key in given]
    for verb in verbs[1:]:
        faults.add(
            given.key_at(verb), f"`{name}` follows in one way, got `{verbs[0]}` and `{verb}`", "remove one"
        )
    if not (verbs or first or faults.problems):  # an unknown key may be the verb
        faults.add(given.where, f"nothing says how `{name}` follows", f"add one of {', '.join(VERBS)}")
    if verbs and first is (verbs[0] != FIRST):
        hint = "the first step has `where`" if first else f"add one of {', '.join(VERBS)}"
        faults.add(given.key_at(verbs[0]), f"`{verbs[0]}` can't stand here in `{name}`", hint)
    body = faults.attempt(_body, given[verbs[0]]) if verbs else Where()
    said = faults.attempt(_quantifiers, name, given)
    faults.raise_any()
    follows: Any = "first" if first else verbs[0]
    return Element(name, follows, body or Where(), **(said or {}))


def _body(value: Value) -> Where | Group | Either:
    if isinstance(value, Items):
        return Group(steps(value))
    if isinstance(value, Fields):
        given = record(value, {"either": _alternatives}, "the alternatives", required=("either",))
        return Either(given["either"])
    if isinstance(value, Scalar) and value.value is True:
        return Where()
    return Where(text(value, wanted="a condition in Spark SQL, a list of steps or {either: [...]}"))


def _alternatives(value: Value) -> tuple[tuple[Element, ...], ...]:
    if not isinstance(value, Items) or len(value.items) < 2:
        fault(
            value.where,
            f"expected two or more alternatives, got {value}",
            "such as {either: [{a: x = 1}, {b: x = 2}]}",
        )
    return tuple(
        steps(item) if isinstance(item, Items) else (_step(item, first=True),) for item in value.items
    )


def _quantifiers(name: str, given: Fields) -> dict[str, Any]:
    read = record(Fields(given.where, _entries(given)), _QUANTIFIERS, f"the step `{name}`")
    if read.get("one_or_more") and "times" in read:
        fault(given.key_at("times"), f"`{name}` has times and one_or_more", "one_or_more is times: {from: 1}")
    if read.get("consecutive") and read.get("combinations"):
        fault(given.key_at("combinations"), f"`{name}` is consecutive and takes combinations", "remove one")
    said: dict[str, Any] = {
        key: read[key] for key in ("optional", "greedy", "until", "gap", "times") if key in read
    }
    if read.get("one_or_more"):
        said["times"] = Times(1, None)
    for repeats in ("consecutive", "combinations"):
        if read.get(repeats):
            said["repeats"] = repeats
    return said


def _entries(given: Fields) -> Any:
    return {key: entry for key, entry in given.entries.items() if key in QUANTIFIERS}


def _times(value: Value) -> Times:
    if isinstance(value, Fields):
        read = record(
            value,
            {"from": _number, "to": _number},
            "times",
            required=("from",),
            hint=_TIMES_HINT,
        )
        least, most = read["from"], read.get("to")
    else:
        least = most = _number(value)
        if least == 0:
            fault(value.where, "expected 1 row or more, got 0", _TIMES_HINT)
    if most is not None and (most < least or most == 0):
        fault(
            value.where,
            f"expected `to` of {max(least, 1)} or more, got {most}",
            "leave `to` out for any number more",
        )
    return Times(least, most)


def _number(value: Value) -> int:
    if not isinstance(value, Scalar) or isinstance(value.value, bool) or not str(value.value).isdigit():
        fault(value.where, f"expected a number of rows, got {value}", _TIMES_HINT)
    return int(str(value.value))


def length(value: Value) -> int:
    """A length of time in microseconds."""
    with at(value):
        return microseconds(text(value, wanted="a length of time"))


def _within(value: Value) -> Within:
    if isinstance(value, Fields):
        return Within(**record(value, {"whole": _some, "between": _some}, "within"))
    return Within(whole=_some(value))


def _some(value: Value) -> int:
    found = length(value)
    if found == 0:
        fault(value.where, f"expected a length longer than 0, got {value}", "such as 10 minutes")
    return found


def _skip(value: Value) -> Skip:
    if isinstance(value, Fields):
        given = fields(value, wanted="one way to skip")
        kinds = ("to_first", "to_last")
        if len(given) != 1 or next(iter(given)) not in kinds:
            got = ", ".join(given)
            fault(
                value.where, f"expected to_first or to_last with a step, got {got}", did_you_mean(got, kinds)
            )
        [kind] = given
        return skip_of({kind: text(given[kind], wanted="the name of a step")})
    with at(value):
        return skip_of(word(value, get_args(SkipKind)))


def _condition(value: Value) -> str:
    return text(value, wanted="a condition in Spark SQL")


_QUANTIFIERS: dict[str, Reader] = {
    "times": _times,
    **dict.fromkeys(FLAGS, flag),
    "until": _condition,
    "gap": length,
}
FATES: dict[str, Reader] = dict.fromkeys(
    ("late_rows", "timeouts"), lambda value: word(value, get_args(LateRows))
)
"""What becomes of rows that are no match."""
MATCH: dict[str, Reader] = {
    "steps": steps,
    "within": _within,
    "skip": _skip,
    "order": lambda value: word(value, get_args(Order)),
    **FATES,
    "select": lambda value: named(value, wanted="names and measures", hint="such as {at: large.ts}"),
}
