"""Check patterns, including groups and alternatives: elements, names, times and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.durations import text
from headrace.errors import did_you_mean
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Element, Skip, Where, Within, steps_of
from headrace.sql.expression_check import check_expression
from headrace.steps.expressions import Named, names_of
from headrace.steps.facts import duplicates
from headrace.steps.traits import Finding

Problems = Iterator[tuple[str, str]]

_STRING = re.compile(r"'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z)|\"[^\"\\]*(?:\\.[^\"\\]*)*(?:\"|\\?\Z)", re.DOTALL)
_QUALIFIED = re.compile(r"(?<![\w.`])(?:`([^`]+)`|([A-Za-z_]\w*))\s*\.\s*[`A-Za-z_]")
_ARGUMENT = re.compile(r"\b([A-Za-z_]\w*)\s*(?:,\s*([A-Za-z_]\w*)\s*(?:\)\s*)?)?->")


def check_pattern(
    pattern: Pattern,
    *,
    within: Within,
    skip: Skip,
    select: Named,
    keys: Named,
    columns: tuple[str, ...] | None,
) -> Iterator[Finding]:
    """Yield the problems of a pattern over rows with these columns; None if the columns are unknown."""
    problems = (
        _sequence(pattern.elements, whole=True),
        _names(pattern, {name.lower() for name in (*(columns or ()), *(key for key, _ in keys))}),
        _time(pattern, within),
        _skip(pattern, skip),
        _references(pattern, select, columns),
        _expressions(pattern, select, columns, keys),
    )
    for what, hint in (problem for group in problems for problem in group):
        yield Finding(what, hint, ("match",))


def _sequence(elements: tuple[Element, ...], *, whole: bool) -> Problems:
    if elements[0].negated:
        yield (
            f"`{elements[0].name}` is the first step and must not occur",
            "begin with a step that must occur",
        )
    if not whole and elements[-1].negated:
        yield (
            f"`{elements[-1].name}` ends a group and must not occur",
            "put it after the group, or let a step follow it in the group",
        )
    for before, element in zip((None, *elements), elements, strict=False):
        yield from _element(element)
        if before is not None:
            yield from _pair(before, element)
        for part in element.parts:
            yield from _sequence(part, whole=False)


def _pair(before: Element, element: Element) -> Problems:
    if element.negated and before.may_be_absent:
        yield (
            f"`{element.name}` must not follow `{before.name}`, which is optional",
            f"write two patterns: one with `{before.name}` and one without",
        )
    if before.greedy and element.may_be_absent:
        yield (
            f"`{element.name}` is optional and follows `{before.name}`, which is greedy",
            "remove one of the two",
        )


def _element(element: Element) -> Problems:
    name, repeats = element.name, element.times is not None
    if element.negated:
        yield from _check_negated(element)
        return
    if element.greedy and (not repeats or element.parts):
        yield f"`{name}` is greedy and matches one row", "greedy is for a step with times or one_or_more"
    if element.greedy and element.repeats == "combinations":
        yield f"`{name}` has both greedy and combinations", "remove greedy or combinations"
    if element.repeats != "relaxed" and not repeats:
        yield f"`{name}` is {element.repeats} and matches one row", "add times(...) or one_or_more()"
    if element.until is not None and not element.looping:
        yield (
            f"`{name}` has until, but no repetition that it could end",
            "until is for one_or_more and times(n, None)",
        )
    if element.gap is not None and (not repeats or element.parts):
        yield f"`{name}` has a gap, and matches one row", "gap is for a step with times or one_or_more"
    if element.parts and element.looping and _may_be_empty(element):
        yield (
            f"`{name}` repeats a group that may match no row, so it would never end",
            "make one of its steps mandatory",
        )


def _check_negated(element: Element) -> Problems:
    quantifiers = element.times, element.until, element.gap, element.optional, element.greedy
    if any(quantifiers) or element.repeats != "relaxed":
        yield (
            f"`{element.name}` must not occur, so it has no quantifier",
            "remove the quantifier",
        )
    if element.parts:
        yield f"`{element.name}` must not occur, and is more than one step", "use one condition"
    elif isinstance(element.body, Where) and element.body.condition is None:
        yield (
            f"`{element.name}` must not occur, and has no condition",
            "add the condition of the rows that must not occur",
        )


def _may_be_empty(element: Element) -> bool:
    """Return True if a group or alternative may match no row."""
    return any(
        all(
            part.negated or part.may_be_absent or (bool(part.parts) and _may_be_empty(part)) for part in parts
        )
        for parts in element.parts
    )


def _names(pattern: Pattern, taken: set[str]) -> Problems:
    for name in duplicates(pattern.names):
        yield f"two steps are called `{name}`", "name each once"
    for name in dict.fromkeys(pattern.names):
        if not name or name.startswith("__"):
            yield f"a step cannot be called `{name}`", "use another name"
        elif name.lower() in taken:
            yield (
                f"the step `{name}` has the name of a column, so conditions would be ambiguous",
                "use another name",
            )


def _time(pattern: Pattern, within: Within) -> Problems:
    last = pattern.elements[-1]
    if last.contiguity == "not_followed_by" and not (within.whole or within.between):
        what = f"the pattern ends with `{last.name}`, which must not follow, and has no `within`"
        yield what, "add within, such as within='5 minutes'"
    if within.whole is not None and within.between is not None and within.between > within.whole:
        yield (
            f"`between` ({text(within.between)}) is longer than the whole match may take "
            f"({text(within.whole)})",
            "make `between` the shorter one",
        )


def _skip(pattern: Pattern, skip: Skip) -> Problems:
    names = [step.name for step in steps_of(pattern.elements) if not step.negated]
    if skip.step and skip.step not in names:
        yield (
            f"skip goes to `{skip.step}`, which is not a step that matches rows",
            did_you_mean(skip.step, names),
        )


def _references(pattern: Pattern, select: Named, columns: tuple[str, ...] | None) -> Problems:
    """Yield qualifiers that are neither a step nor a column; none if the columns are unknown."""
    if columns is None:
        return
    known = {name.lower() for name in (*pattern.names, *columns)}
    for place, condition in _conditions(pattern, select):
        for name in _qualifiers(condition):
            if name.lower() not in known:
                what = f"{place} refers to `{name}`, which is neither a step nor a column"
                yield what, did_you_mean(name, (*pattern.names, *columns))


def _expressions(pattern: Pattern, select: Named, columns: tuple[str, ...] | None, keys: Named) -> Problems:
    """Yield errors of conditions and measures: syntax, unknown functions and columns."""
    known = None if columns is None else (*columns, *pattern.names, *names_of(keys))
    for place, condition in _conditions(pattern, select):
        reported = {f"unknown column `{name}`" for name in _qualifiers(condition)}  # see `_references`
        for fault in check_expression(condition, known):
            if fault.problem not in reported:
                yield f"{place}: {fault.problem}", fault.hint


def _qualifiers(condition: str) -> Iterator[str]:
    """Yield the names before a dot, except arguments of lambda functions."""
    bare = _STRING.sub("''", condition)
    arguments = {name.lower() for groups in _ARGUMENT.findall(bare) for name in groups if name}
    for quoted, plain in _QUALIFIED.findall(bare):
        if (quoted or plain).lower() not in arguments:
            yield quoted or plain


def null_references(pattern: Pattern, select: Named) -> Problems:
    """Yield references that are always null: to a later step, or to a step that must not occur."""
    absent = {step.name.lower() for step in steps_of(pattern.elements) if step.negated}
    for place, condition in _conditions(pattern, select):
        for name in dict.fromkeys(_qualifiers(condition)):
            if name.lower() in absent:
                yield f"{place} refers to `{name}`, which must not occur: it is always null", "remove it"
    for index, element in enumerate(pattern.elements):
        later = {step.name.lower() for step in steps_of(pattern.elements[index + 1 :])} - absent
        for place, condition in _element_conditions((element,)):
            for name in dict.fromkeys(_qualifiers(condition)):
                if name.lower() in later:
                    yield (
                        f"{place} refers to `{name}`, which is a later step: it is always null",
                        f"move the comparison to the condition of `{name}`",
                    )


def _conditions(pattern: Pattern, select: Named) -> Iterator[tuple[str, str]]:
    yield from _element_conditions(pattern.elements)
    for name, measure in select:
        if isinstance(measure, str):
            yield f"the measure `{name}`", measure


def _element_conditions(elements: tuple[Element, ...]) -> Iterator[tuple[str, str]]:
    for element in elements:
        if isinstance(element.body, Where) and isinstance(element.body.condition, str):
            yield f"the condition of `{element.name}`", element.body.condition
        if isinstance(element.until, str):
            yield f"until of `{element.name}`", element.until
        for part in element.parts:
            yield from _element_conditions(part)


def check_state_bound(pattern: Pattern, within: Within) -> tuple[str, str] | None:
    """Return the reason why the state of a pattern has no bound, and a hint; None if it is bounded."""
    if within.whole is not None or within.between is not None:
        return None
    elements = list(_nested_elements(pattern.elements))
    hint = "add within, such as within='10 minutes'"
    for element in elements:
        if element.contiguity == "followed_by_any" or element.repeats == "combinations":
            what = f"every row may start another match with `{element.name}`, which never expires"
            return f"{what}: the state of a key grows faster than its number of rows", hint
    waiting = [e for e in elements if e.contiguity in ("followed_by", "not_followed_by")]
    loops = [e for e in elements if e.looping and e.repeats == "relaxed"]
    if waiting or loops:
        return (
            f"a partial match that waits for `{(waiting or loops)[0].name}` never expires: there is no "
            "`within`",
            hint,
        )
    return None


def _nested_elements(elements: tuple[Element, ...]) -> Iterator[Element]:
    for element in elements:
        yield element
        for part in element.parts:
            yield from _nested_elements(part)
