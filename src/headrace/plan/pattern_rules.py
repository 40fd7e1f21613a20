"""What can be wrong with a pattern: each rule goes through its elements, those of groups and alternatives too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.durations import text
from headrace.errors import did_you_mean
from headrace.patterns.elements import Element, Where, steps_of
from headrace.plan.facts import columns_of
from headrace.plan.graph import Graph
from headrace.steps.base import Node
from headrace.steps.patterns.match import Match

Found = Iterator[tuple[str, str]]

_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_QUALIFIED = re.compile(r"(?<![\w.`])(?:`([^`]+)`|([A-Za-z_]\w*))\s*\.\s*[`A-Za-z_]")
_ARGUMENT = re.compile(r"\b([A-Za-z_]\w*)\s*(?:,\s*([A-Za-z_]\w*)\s*\)?\s*)?->")


def pattern_problems(graph: Graph, node: Node) -> Found:
    """Everything that is wrong with a step's pattern."""
    if isinstance(node, Match):
        elements = node.pattern.elements
        yield from _sequence(elements, whole=True)
        yield from _names(graph, node)
        yield from _time(node)
        yield from _skip(node)
        yield from _references(graph, node)


def _sequence(elements: tuple[Element, ...], *, whole: bool) -> Found:
    if elements[0].negated:
        yield f"`{elements[0].name}` begins with a row that must not come", "begin with one that must"
    if not whole and elements[-1].negated:
        yield (
            f"`{elements[-1].name}` ends a group with a row that must not come",
            "put it after the group, or let a step follow it in the group",
        )
    for before, element in zip((None, *elements), elements, strict=False):
        yield from _element(element)
        if before is not None:
            yield from _pair(before, element)
        for part in element.parts:
            yield from _sequence(part, whole=False)


def _pair(before: Element, element: Element) -> Found:
    if element.negated and before.may_be_absent:
        yield (
            f"`{element.name}` must not come after `{before.name}`, which is optional",
            f"make two patterns of it: one with `{before.name}` and one without",
        )
    if before.greedy and element.may_be_absent:
        yield (
            f"`{element.name}` is optional and follows `{before.name}`, which is greedy",
            "leave one of the two out",
        )


def _element(element: Element) -> Found:
    name, repeats = element.name, element.times is not None
    if element.negated:
        yield from _negated(element)
        return
    if element.greedy and (not repeats or element.parts):
        yield f"`{name}` is greedy and takes one row", "greedy is for a step with times or one_or_more"
    if element.greedy and element.repeats == "combinations":
        yield f"`{name}` is greedy, and any of its rows may be left out", "leave out greedy or combinations"
    if element.repeats != "relaxed" and not repeats:
        yield f"`{name}` is {element.repeats} and takes one row", "add times(...) or one_or_more()"
    if element.until is not None and not element.looping:
        yield (
            f"`{name}` has until, and no repeats that it could end",
            "until is for one_or_more and times(n, None)",
        )
    if element.gap is not None and (not repeats or element.parts):
        yield f"`{name}` has a gap, and takes one row", "gap is for a step with times or one_or_more"
    if element.parts and element.looping and _empty(element):
        yield (
            f"`{name}` repeats something that may be nothing, so it would never end",
            "let one of its steps be there in every round",
        )


def _negated(element: Element) -> Found:
    said = element.times, element.until, element.gap, element.optional, element.greedy
    if any(said) or element.repeats != "relaxed":
        yield (
            f"`{element.name}` must not come, so nothing can be said of how often",
            "leave the quantifier out",
        )
    if element.parts:
        yield f"`{element.name}` must not come, and is more than one step", "give it one condition"
    elif isinstance(element.body, Where) and element.body.condition is None:
        yield f"`{element.name}` must not come, and has no condition", "say which rows must not come"


def _empty(element: Element) -> bool:
    """Whether a group, or one of several alternatives, may match no row at all."""
    return any(
        all(part.negated or part.may_be_absent or (bool(part.parts) and _empty(part)) for part in parts)
        for parts in element.parts
    )


def _names(graph: Graph, node: Match) -> Found:
    names = node.pattern.names
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"two steps are called `{name}`", "name each once"
    columns = {column.lower() for column in columns_of(graph, node.input) or ()}
    for name in dict.fromkeys(names):
        if not name or name.startswith("__"):
            yield f"a step can't be called `{name}`", "take another name"
        elif name.lower() in columns or name.lower() in {key.lower() for key, _ in node.keys}:
            yield (
                f"the step `{name}` is named like a column, so conditions can't tell them apart",
                "take another name",
            )
    given = [name for name, _ in (*node.keys, *(node.select or ()))]
    for name in {name for name in given if given.count(name) > 1}:
        yield (
            f"`{name}` is both a key and a measure",
            "the key's columns are in every match; name the measure anew",
        )


def _time(node: Match) -> Found:
    within = node.within
    if node.pattern.elements[-1].contiguity == "not_followed_by" and not (within.whole or within.between):
        last = node.pattern.elements[-1].name
        yield (
            f"the pattern ends with `{last}`, which must not follow, and nothing says for how long",
            "add within, such as within='5 minutes'",
        )
    if within.whole is not None and within.between is not None and within.between > within.whole:
        yield (
            f"between two rows may be {text(within.between)}, and the whole match takes less than {text(within.whole)}",
            "make `between` the shorter one",
        )


def _skip(node: Match) -> Found:
    taking = [step.name for step in steps_of(node.pattern.elements) if not step.negated]
    if node.skip.step and node.skip.step not in taking:
        yield (
            f"skip goes to `{node.skip.step}`, and no such step takes rows",
            did_you_mean(node.skip.step, taking),
        )


def _references(graph: Graph, node: Match) -> Found:
    """Names before a dot that are neither a step nor a column; where only Spark knows the columns, none."""
    columns = columns_of(graph, node.input)
    if columns is None:
        return
    known = {name.lower() for name in (*node.pattern.names, *columns)}
    for said, condition in _conditions(node):
        for name in _spoken_of(condition):
            if name.lower() not in known:
                yield (
                    f"{said} speaks of `{name}`, which is no step and no column",
                    did_you_mean(name, (*node.pattern.names, *columns)),
                )


def _spoken_of(condition: str) -> Iterator[str]:
    """The names before a dot, but for arguments of lambda functions."""
    bare = _TEXT.sub("''", condition)
    arguments = {name.lower() for found in _ARGUMENT.findall(bare) for name in found if name}
    for quoted, plain in _QUALIFIED.findall(bare):
        if (quoted or plain).lower() not in arguments:
            yield quoted or plain


def rowless(node: Match) -> Found:
    """Where a condition or a measure speaks of a step that has no row yet, or never has one: it is always null there."""
    absent = {step.name.lower() for step in steps_of(node.pattern.elements) if step.negated}
    for said, condition in _conditions(node):
        for name in dict.fromkeys(_spoken_of(condition)):
            if name.lower() in absent:
                yield f"{said} speaks of `{name}`, which must not come: it is always null", "leave it out"
    for place, element in enumerate(node.pattern.elements):
        later = {step.name.lower() for step in steps_of(node.pattern.elements[place + 1 :])} - absent
        for said, condition in _of_elements((element,)):
            for name in dict.fromkeys(_spoken_of(condition)):
                if name.lower() in later:
                    yield (
                        f"{said} speaks of `{name}`, which comes after it: it is always null there",
                        f"put the comparison into the condition of `{name}`",
                    )


def _conditions(node: Match) -> Iterator[tuple[str, str]]:
    yield from _of_elements(node.pattern.elements)
    for name, measure in node.select or ():
        if isinstance(measure, str):
            yield f"the measure `{name}`", measure


def _of_elements(elements: tuple[Element, ...]) -> Iterator[tuple[str, str]]:
    for element in elements:
        if isinstance(element.body, Where) and isinstance(element.body.condition, str):
            yield f"the condition of `{element.name}`", element.body.condition
        if isinstance(element.until, str):
            yield f"until of `{element.name}`", element.until
        for part in element.parts:
            yield from _of_elements(part)


def grows(node: Match) -> tuple[str, str] | None:
    """Why the state of a pattern may grow without end, and what would stop it; None where it can't."""
    if node.within.whole is not None or node.within.between is not None:
        return None
    for element in _all(node.pattern.elements):
        if element.contiguity == "followed_by_any" or element.repeats == "combinations":
            return (
                f"every row may go into another match with `{element.name}`, and without `within` none is forgotten: "
                "the state of a key grows with each row, and faster",
                "add within='10 minutes' or what fits",
            )
    waiting = [e for e in _all(node.pattern.elements) if e.contiguity in ("followed_by", "not_followed_by")]
    loops = [e for e in _all(node.pattern.elements) if e.looping and e.repeats == "relaxed"]
    if waiting or loops:
        name = (waiting or loops)[0].name
        return (
            f"a match that waits for `{name}` is remembered for ever: there is no `within`",
            "add within='10 minutes' or what fits",
        )
    return None


def _all(elements: tuple[Element, ...]) -> Iterator[Element]:
    for element in elements:
        yield element
        for part in element.parts:
            yield from _all(part)
