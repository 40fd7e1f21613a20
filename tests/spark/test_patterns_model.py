"""The kernel's results equal those of the model.

Generated patterns and streams through both, out of order and restarted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

from docs.playground.model.patterns import Either, Group, Model, Path, Row, Step, is_run, steps_of
from docs.playground.model.patterns import Element as ModelElement
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from headrace.lowering.patterns.matches import match_driver
from headrace.lowering.watermarks import END_OF_TIME_MS
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Either as OneOf
from headrace.patterns.elements import Element, Skip, Times, Where, Within
from headrace.patterns.elements import Group as Together
from headrace.steps.base import Ref
from headrace.steps.patterns.match import Match

SECOND = 1_000_000
CASES = 120
REPEATS = {"next": "consecutive", "followed_by": "relaxed", "followed_by_any": "combinations"}


TIMES = [(1, 1), (1, 1), (2, 2), (1, 3), (0, 2), (1, None), (2, None)]
VERBS = st.sampled_from(["next", "followed_by", "followed_by_any"])
Whole = TypeVar("Whole", Group, Either)


@st.composite
def patterns(draw: st.DrawFn) -> tuple[ModelElement, ...]:
    """Two to four elements over the letters a to d.

    What must not come, and what ends repeats, are rows with x.
    """
    actual: list[ModelElement] = []
    for at in range(draw(st.integers(2, 4))):
        before = actual[-1] if actual else None
        several = draw(st.sampled_from([None, None, None, groups, eithers]))
        if several is not None:
            actual.append(cast(ModelElement, draw(several(at, before))))
            continue
        if isinstance(before, Step) and forbids_after(before) and draw(st.integers(0, 4)) == 0:
            actual.append(Step(f"not{at}", draw(st.sampled_from(["not_next", "not_followed_by"])), "x"))
        actual.append(draw(steps(f"s{at}", actual[-1] if actual else None)))
    return tuple(actual)


def forbids_after(step: Step) -> bool:
    """True if a step may be followed by a negated step."""
    return not step.verb.startswith("not") and not step.optional and step.least > 0


def must_come(before: ModelElement | None) -> bool:
    """True if the next step is required: at the beginning, after a negated step, after a greedy step."""
    return before is None or before.verb.startswith("not") or any(step.greedy for step in ends_of(before))


def ends_of(element: ModelElement) -> list[Step]:
    """The steps that an element can end with."""
    if isinstance(element, Step):
        return [element]
    return [element.steps[-1]] if isinstance(element, Group) else [item[-1] for item in element.alternatives]


@st.composite
def steps(draw: st.DrawFn, name: str, before: ModelElement | None) -> Step:
    least, most = draw(st.sampled_from(TIMES))
    must = must_come(before)
    least = max(least, 1) if must else least
    repeats = draw(VERBS)
    greedy = least != most and repeats != "followed_by_any" and draw(st.integers(0, 2)) == 0
    return Step(
        name,
        draw(VERBS) if before else "next",
        draw(st.sampled_from(["a", "b", "c", "ab", "bc", "abcd"])),
        least,
        most,
        not must and draw(st.integers(0, 3)) == 0,
        repeats,
        greedy,
        "x" if most is None and not greedy and draw(st.booleans()) else "",
        draw(gaps(least, most, repeats)),
    )


def gaps(least: int, most: int | None, repeats: str) -> st.SearchStrategy[int | None]:
    """Few have a gap. Combinations forget it, as in Flink, in repeats that may be left out."""
    forgets = repeats == "followed_by_any" and most is not None and least != most
    return st.none() if forgets or (least, most) == (1, 1) else st.sampled_from([None, None, 2, 4])


@st.composite
def repeat(
    draw: st.DrawFn,
    kind: Callable[..., Whole],
    name: str,
    parts: tuple[Any, ...],
    before: ModelElement | None,
    sizes: list[tuple[int, int | None]],
) -> Whole:
    """Several steps as one, which may come more than once or be left out."""
    least, most = draw(st.sampled_from(sizes))
    must = must_come(before)
    return kind(
        name,
        draw(VERBS) if before else "next",
        parts,
        max(least, 1) if must else least,
        most,
        not must and draw(st.integers(0, 3)) == 0,
        draw(VERBS),
        until="x" if most is None and draw(st.booleans()) else "",
    )


@st.composite
def groups(draw: st.DrawFn, at: int, before: ModelElement | None) -> Group:
    """A single row and one or two steps after it, as one."""
    first = Step(f"g{at}0", "next", draw(st.sampled_from(["a", "b", "ab"])))
    inner = [first]
    for i in range(1, draw(st.integers(2, 3))):
        inner.append(draw(inner_steps(f"g{at}{i}", first)))
    sizes = [(1, 1), (2, 2), (1, 2), (1, None), (0, None)]
    return draw(repeat(Group, f"g{at}", tuple(inner), before, sizes))


@st.composite
def inner_steps(draw: st.DrawFn, name: str, before: Step) -> Step:
    step = draw(steps(name, before))
    return replace(step, optional=False, least=max(step.least, 1))


@st.composite
def eithers(draw: st.DrawFn, at: int, before: ModelElement | None) -> Either:
    """Two alternatives, each a single row and perhaps a step after it."""
    ways = []
    for way in "lr":
        first = Step(f"{way}{at}0", "next", draw(st.sampled_from(["a", "b", "bc"])))
        more = draw(st.lists(inner_steps(f"{way}{at}1", first), max_size=1))
        ways.append((first, *more))
    sizes = [(1, 1), (1, 1), (2, 2), (1, 2), (1, None), (0, None)]
    return draw(repeat(Either, f"e{at}", tuple(ways), before, sizes))


ROWS = st.lists(
    st.tuples(st.sampled_from("kl"), st.integers(1, 12), st.sampled_from("aabbccdxz")), min_size=3, max_size=9
)


def declare(pattern: tuple[ModelElement, ...], limits: tuple[int | None, int | None], skip: Skip) -> Match:
    within = Within(*(limit and limit * SECOND for limit in limits))
    return Match("m", Ref("s"), (("k", "k"),), Pattern(sequence(pattern)), within, skip)


def sequence(pattern: tuple[ModelElement, ...]) -> tuple[Element, ...]:
    return tuple(element(item, first=at == 0) for at, item in enumerate(pattern))


def element(item: ModelElement, *, first: bool) -> Element:
    once = (item.least, item.most) == (1, 1)
    return Element(
        item.name,
        "first" if first else cast(Any, item.verb),
        body(item),
        None if once else Times(item.least, item.most),
        item.optional,
        item.greedy,
        "relaxed" if once else cast(Any, REPEATS[item.repeats]),
        among(item.until) if item.until else None,
        item.gap * SECOND if isinstance(item, Step) and item.gap else None,
    )


def body(item: ModelElement) -> Where | Together | OneOf:
    if isinstance(item, Step):
        return Where(among(item.letters))
    if isinstance(item, Group):
        return Together(sequence(item.steps))
    return OneOf(tuple(map(sequence, item.alternatives)))


def among(letters: str) -> str:
    return f"letter in ({', '.join(repr(letter) for letter in letters)})"


def script(rows: list[tuple[str, int, str]], order: list[int], cuts: int) -> list[dict[str, Any]]:
    """The rows in another order and in several batches.

    The watermark goes as far as no row will be late, then ends.
    """
    batches = []
    size = max(1, len(order) // cuts)
    for begin in range(0, len(order), size):
        own, rest = order[begin : begin + size], order[begin + size :]
        value = [{"k": rows[i][0], "at": i, "letter": rows[i][2], "__ts": rows[i][1] * SECOND} for i in own]
        mark = min((rows[i][1] for i in rest), default=13) * SECOND
        batches += [{"rows": value, "restart": True}, {"rows": [], "watermark": mark, "restart": True}]
    return [*batches, {"rows": [], "watermark": END_OF_TIME_MS * 1000}]


def paths(answer: dict[str, Any], places: dict[int, int], names: list[str], key: str) -> list[Path]:
    actual = [row["__main"] for event in answer["events"] for row in event if row["__output"] == "main"]
    return [
        tuple(sorted(((name, places[row["at"]]) for name in names for row in item[name]), key=lambda t: t[1]))
        for item in actual
        if item["k"] == key
    ]


@settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    patterns(),
    ROWS,
    st.randoms(use_true_random=False),
    st.integers(1, 4),
    st.sampled_from([(None, None), (3, None), (8, None), (None, 3), (8, 2)]),
    st.data(),
)
def test_matches_are_those_of_the_model(
    spark: SparkSession, pattern: Any, rows: Any, random: Any, cuts: Any, limits: Any, data: Any
) -> None:
    taking = [step.name for step in steps_of(pattern) if not step.verb.startswith("not")]
    kind = data.draw(st.sampled_from(["none", "none", "past_last", "to_next", "to_first", "to_last"]))
    skip = Skip(kind, data.draw(st.sampled_from(taking)) if kind in ("to_first", "to_last") else "")
    order = list(range(len(rows)))
    random.shuffle(order)
    frame = spark.createDataFrame([], "k string, at int, letter string, __ts timestamp")
    answer = match_driver(frame, ["k"], declare(pattern, limits, skip)).run(script(rows, order, cuts))
    for key in "kl":
        own = sorted((i for i in order if rows[i][0] == key), key=lambda i: (rows[i][1], order.index(i)))
        places = {i: place for place, i in enumerate(own)}
        model = Model(pattern, tuple(Row(rows[i][1], rows[i][2]) for i in own), *limits)
        received = paths(answer, places, taking, key)
        if kind == "none":
            assert Counter(received) == Counter(model.paths())
        else:
            assert is_run(model.paths(), received, kind, skip.step)
    assert limits == (None, None) or answer["keys"] == 0, "what has timed out is forgotten"
