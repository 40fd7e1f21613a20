"""The problems of a pattern are reported when the plan is checked, all of it, in Python and in documents alike."""

from __future__ import annotations

import pytest

from headrace import Pipeline
from headrace.errors import PlanError
from headrace.plan.warnings import warnings_of

WRONG = {
    "[{a: v = 'a'}, {b: {not_followed_by: v = 'b'}}]": "the pattern ends with `b`, which must not follow, "
    "and has no `within`\n  hint: add within",
    "[{a: v = 'a'}, {b: {not_next: v = 'b', times: 2}}, {c: {next: v = "
    "'c'}}]": "`b` must not occur, so it has no quantifier\n  hint: remove the quantifier",
    "[{a: v = 'a'}, {b: {not_next: [{c: v = 'c'}]}}, {d: {next: v = "
    "'d'}}]": "`b` must not occur, and is more than one step",
    "[{a: v = 'a'}, {b: {not_next: true}}, {d: {next: v = 'd'}}]": "`b` must not occur, and has no condition",
    "[{a: {where: v = 'a', greedy: true}}]": "`a` is greedy and matches one row\n  hint: greedy is for a "
    "step with times",
    "[{a: {where: v = 'a', one_or_more: true, combinations: true, greedy: "
    "true}}]": "`a` has both greedy and combinations",
    "[{a: {where: v = 'a', consecutive: true}}]": "`a` is consecutive and matches one row",
    "[{a: {where: v = 'a', times: 2, until: v = 'u'}}]": "`a` has until, but no repetition that it could end",
    "[{a: {where: v = 'a', gap: 1 second}}]": "`a` has a gap, and matches one row",
    "[{a: {where: v = 'a', optional: true}}, {b: {not_next: v = 'b'}}, {c: {next: v = "
    "'c'}}]": "`b` must not follow `a`, which is optional",
    "[{a: {where: v = 'a', one_or_more: true, greedy: true}}, {b: {next: v = 'b', optional: "
    "true}}]": "`b` is optional and follows `a`, which is greedy",
    "[{g: {where: [{a: {where: v = 'a', optional: true}}], one_or_more: "
    "true}}]": "`g` repeats a group that may match no row, so it would never end",
    "[{g: {where: [{a: v = 'a'}, {b: {not_followed_by: v = 'b'}}]}}, {c: {next: v = "
    "'c'}}]": "`b` ends a group and must not occur",
    "[{a: v = 'a'}, {a: {next: v = 'b'}}]": "two steps are called `a`",
    "[{K: v = 'a'}]": "the step `K` has the name of a column, so conditions would be ambiguous",
    "[{__a: v = 'a'}]": "a step cannot be called `__a`",
    "[{small: v = 'a'}, {b: {next: v > smal.v}}]": "the condition of `b` refers to `smal`, which is neither a step "
    "nor a column\n  hint: did you mean `small`?",
    "[{small: {where: v = 'a', one_or_more: true, until: v > smal.v}}]": "until of `small` refers to `smal`",
}


def document(steps: str, more: str = "", key: str = "k") -> str:
    source = '{memory: {}, schema: "k string, v string, n struct<x: int>, ts timestamp", event_time: ts}'
    sink = "sinks: {o: {from: m, memory: {}}}"
    return f"name: p\nsources: {{s: {source}}}\nsteps:\n  m: {{from: s, key_by: {key}, match: {{steps: {steps}{more}}}}}\n{sink}\n"


@pytest.mark.parametrize("steps", WRONG, ids=lambda steps: WRONG[steps].partition("\n")[0])
def test_a_wrong_pattern_is_reported(steps: str) -> None:
    with pytest.raises(PlanError) as raised:
        Pipeline.from_yaml_text(document(steps)).check()
    assert WRONG[steps] in str(raised.value)


def test_all_that_is_wrong_is_reported_at_once_with_its_place() -> None:
    steps = "[{a: {where: v = 'a', greedy: true}}, {b: {not_followed_by: v = 'b'}}]"
    with pytest.raises(PlanError) as raised:
        Pipeline.from_yaml_text(
            document(steps, ", skip: {to_first: c}, select: {k: c.v}"), file="p.yaml"
        ).check()
    messages = [problem.what for problem in raised.value.problems]
    assert len(messages) == 5
    assert "skip goes to `c`, which is not a step that matches rows" in messages
    assert "two columns are called `k`" in messages
    assert "the measure `k` refers to `c`, which is neither a step nor a column" in messages
    assert all(problem.where.startswith("p.yaml:4:") for problem in raised.value.problems)


def test_between_can_not_be_longer_than_the_whole() -> None:
    with pytest.raises(
        PlanError, match=r"`between` \(2 minutes\) is longer than the whole match may take \(1 minute\)"
    ):
        Pipeline.from_yaml_text(
            document("[{a: v = 'a'}]", ", within: {whole: 1 minute, between: 2 minutes}")
        ).check()


def test_fields_texts_and_arguments_of_lambdas_are_no_steps() -> None:
    steps = "[{a: \"n.x > 1 and v = 'b.c'\"}, {b: {next: 'exists(a, r -> r.v = v)'}}]"
    Pipeline.from_yaml_text(document(steps)).check()


def test_rows_without_time_can_not_be_matched() -> None:
    text = document("[{a: v = 'a'}]").replace(", event_time: ts", "")
    with pytest.raises(PlanError, match="match needs rows with time"):
        Pipeline.from_yaml_text(text).check()


@pytest.mark.parametrize(
    ("steps", "more", "message"),
    [
        (
            "[{a: v = 'a'}, {b: {followed_by: v = 'b'}}]",
            "",
            "a partial match that waits for `b` never expires",
        ),
        (
            "[{a: v = 'a'}, {b: {followed_by_any: v = 'b'}}]",
            "",
            "every row may start another match with `b`",
        ),
        ("[{a: v = 'a'}, {b: {followed_by: v = 'b'}}]", ", within: 1 minute", ""),
        ("[{a: v = 'a'}, {b: {next: v = 'b'}}]", "", ""),
    ],
)
def test_state_that_may_grow_without_end_is_reported(steps: str, more: str, message: str) -> None:
    messages = [
        warning.what for warning in warnings_of(Pipeline.from_yaml_text(document(steps, more))._plan())
    ]
    assert (message in messages[0]) if message else messages == []


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            "[{a: v < b.v}, {b: {next: v = 'b'}}]",
            "the condition of `a` refers to `b`, which is a later step: it is always null",
        ),
        (
            "[{a: v = 'a'}, {b: {not_next: v = 'b'}}, {c: {next: v > b.v}}]",
            "the condition of `c` refers to `b`, which must not occur: it is always null",
        ),
        ("[{a: {where: v > a.v or a.v is null, times: 2}}, {b: {next: v > a.v}}]", ""),
        ("[{g: {where: [{a: v > b.v or b.v is null}, {b: {next: v = 'b'}}], times: 2}}]", ""),
    ],
)
def test_a_step_that_can_have_no_row_yet_is_reported(steps: str, message: str) -> None:
    warnings = warnings_of(Pipeline.from_yaml_text(document(steps, ", within: 1 minute"))._plan())
    assert [warning.what for warning in warnings] == ([message] if message else [])
