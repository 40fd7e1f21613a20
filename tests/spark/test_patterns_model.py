"""The kernel says what the model says: generated patterns and streams through both, out of order and restarted."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patterns_model import Model, Path, Row, Step, is_run

from headrace.engine.matching import MatchDriver
from headrace.engine.watermarks import END_OF_TIME_MS
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Element, Skip, Times, Where, Within
from headrace.plan.nodes import Match, Ref

SECOND = 1_000_000
CASES = 40
REPEATS = {"next": "consecutive", "followed_by": "relaxed", "followed_by_any": "combinations"}


@st.composite
def patterns(draw: st.DrawFn) -> tuple[Step, ...]:
    """Two to four steps over the letters a to d; what must not come are rows with x."""
    steps: list[Step] = []
    for at in range(draw(st.integers(2, 4))):
        plain = (
            bool(steps) and steps[-1].verb != "not_next" and steps[-1].most == 1 and not steps[-1].optional
        )
        verbs = ["next", "followed_by", "followed_by_any"]
        if plain and steps[-1].verb != "not_followed_by" and draw(st.integers(0, 4)) == 0:
            steps.append(Step(f"not{at}", draw(st.sampled_from(["not_next", "not_followed_by"])), "x"))
        verb = draw(st.sampled_from(verbs)) if at else "next"
        least, most = draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 3), (0, 2), (1, None), (2, None)]))
        letters = draw(st.sampled_from(["a", "b", "c", "ab", "bc", "abcd"]))
        forbidding = bool(steps) and steps[-1].verb.startswith("not")  # an optional step would end it at once
        optional = bool(at) and not forbidding and draw(st.integers(0, 3)) == 0
        repeats = draw(st.sampled_from(["next", "followed_by", "followed_by_any"]))
        steps.append(
            Step(
                f"s{at}",
                verb,
                letters,
                least if at and not forbidding else max(least, 1),
                most,
                optional,
                repeats,
            )
        )
    return tuple(steps)


ROWS = st.lists(
    st.tuples(st.sampled_from("kl"), st.integers(1, 12), st.sampled_from("aabbccdx")), min_size=3, max_size=9
)


def declared(steps: tuple[Step, ...], within: int | None, skip: Skip) -> Match:
    elements = tuple(
        Element(
            step.name,
            "first" if at == 0 else step.verb,
            Where(f"letter in ({', '.join(repr(letter) for letter in step.letters)})"),
            None if (step.least, step.most) == (1, 1) else Times(step.least, step.most),
            step.optional,
            repeats="relaxed" if (step.least, step.most) == (1, 1) else REPEATS[step.repeats],
        )
        for at, step in enumerate(steps)
    )
    limit = None if within is None else within * SECOND
    return Match("m", Ref("s"), (("k", "k"),), Pattern(elements), Within(limit), skip)


def script(rows: list[tuple[str, int, str]], order: list[int], cuts: int) -> list[dict[str, Any]]:
    """The rows in another order and in several batches; the watermark goes as far as no row will be late, then ends."""
    batches = []
    size = max(1, len(order) // cuts)
    for begin in range(0, len(order), size):
        own, rest = order[begin : begin + size], order[begin + size :]
        given = [{"k": rows[i][0], "at": i, "letter": rows[i][2], "__ts": rows[i][1] * SECOND} for i in own]
        mark = min((rows[i][1] for i in rest), default=13) * SECOND
        batches += [{"rows": given, "restart": True}, {"rows": [], "watermark": mark, "restart": True}]
    return [*batches, {"rows": [], "watermark": END_OF_TIME_MS * 1000}]


def paths(answer: dict[str, Any], places: dict[int, int], steps: tuple[Step, ...], key: str) -> list[Path]:
    found = [row["__main"] for event in answer["events"] for row in event if row["__output"] == "main"]
    return [
        tuple((step.name, places[row["at"]]) for step in steps for row in one[step.name])
        for one in found
        if one["k"] == key
    ]


@settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    patterns(),
    ROWS,
    st.randoms(use_true_random=False),
    st.integers(1, 4),
    st.sampled_from([None, 3, 8]),
    st.data(),
)
def test_matches_are_those_of_the_model(spark, steps, rows, random, cuts, within, data) -> None:
    taking = [step.name for step in steps if not step.verb.startswith("not")]
    kind = data.draw(st.sampled_from(["none", "none", "past_last", "to_next", "to_first", "to_last"]))
    skip = Skip(kind, data.draw(st.sampled_from(taking)) if kind in ("to_first", "to_last") else "")
    order = list(range(len(rows)))
    random.shuffle(order)
    frame = spark.createDataFrame([], "k string, at int, letter string, __ts timestamp")
    answer = MatchDriver(frame, ["k"], declared(steps, within, skip)).run(script(rows, order, cuts))
    for key in "kl":
        own = sorted((i for i in order if rows[i][0] == key), key=lambda i: (rows[i][1], order.index(i)))
        places = {i: place for place, i in enumerate(own)}
        model = Model(steps, tuple(Row(rows[i][1], rows[i][2]) for i in own), within)
        came = paths(answer, places, steps, key)
        if kind == "none":
            assert Counter(came) == Counter(model.paths())
        else:
            assert is_run(model.paths(), came, kind, skip.step)
    assert within is None or answer["keys"] == 0, "what has timed out is forgotten"
