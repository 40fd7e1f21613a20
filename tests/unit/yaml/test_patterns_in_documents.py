"""Patterns in documents: the same in YAML and Python, in both directions; errors have their position."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from headrace import Pipeline, connect, patterns
from headrace.errors import DocumentError
from headrace.steps.patterns.match import Match
from headrace.yaml.schema import document_schema

PATTERN = (
    patterns.step("s1", "v = 's'")
    .followed_by("low", "v = 'l'")
    .times(2, 4)
    .consecutive()
    .greedy()
    .next("pair", patterns.step("a", "v = 'a'").followed_by_any("b", "v = 'b'").optional())
    .times(2)
    .not_next("n1", "v = 'x'")
    .followed_by(
        "paid",
        patterns.either(patterns.step("c").times(2), patterns.step("d", "v = 'd'").next("e", "v = 'e'")),
    )
    .followed_by("many", "v = 'm'")
    .one_or_more()
    .until("v = 'u'")
    .gap("3 seconds")
    .followed_by("more", "v = 'o'")
    .times(2, None)
    .combinations()
    .not_followed_by("n2", "v = 'y'")
)


def pipeline(**options: object) -> Pipeline:
    made = Pipeline("p")
    tx = made.read("s", connect.memory(), schema="k string, v string, ts timestamp").event_time("ts")
    tx.key_by("k").match("m", PATTERN, **options).write("o", connect.memory())  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    "options",
    [
        {"within": "1 minute"},
        {
            "within": {"whole": "1 minute", "between": "2 seconds"},
            "skip": patterns.to_first("low"),
            "order": "arrival",
        },
        {"within": "1 minute", "skip": "none", "select": {"at": "low.ts", "n": "count(many)"}},
        {"within": "1 minute", "late_rows": "count", "timeouts": "count"},
    ],
    ids=["plain", "all of it", "measures", "counted"],
)
def test_a_pattern_goes_to_a_document_and_back(options: dict[str, object]) -> None:
    original = pipeline(**options)
    loaded = Pipeline.from_yaml_text(original.to_yaml())
    assert loaded._graph.of(Match) == original._graph.of(Match)
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(YAML(typ="safe").load(original.to_yaml()), document_schema(["memory"]))


def test_a_step_that_matches_any_row_is_printed_in_its_short_form() -> None:
    made = Pipeline("p")
    rows = made.read("s", connect.memory(), schema="k string, ts timestamp").event_time("ts")
    rows.key_by("k").match("m", patterns.step("a").next("b", "k = a.k"), within="1 minute")
    assert "match: {steps: [a: true, b: {next: k = a.k}], within: 1 minute}" in made.to_yaml()
    assert Pipeline.from_yaml_text(made.to_yaml())._graph == made._graph


def test_alternatives_and_numbers_are_printed_in_their_short_form() -> None:
    made = Pipeline("p")
    rows = made.read("s", connect.memory(), schema="k string, ts timestamp").event_time("ts")
    start = patterns.either(patterns.step("a", "k = 'a'"), patterns.step("b", "k = 'b'"))
    rows.key_by("k").match("m", start.followed_by("c", "k = 'c'").times(2), within="1 minute")
    steps = YAML(typ="safe").load(made.to_yaml())["steps"]["m"]["match"]["steps"]
    assert list(steps[0].values()) == [{"where": {"either": [{"a": "k = 'a'"}, {"b": "k = 'b'"}]}}]
    assert steps[1] == {"c": {"followed_by": "k = 'c'", "times": 2}}
    assert Pipeline.from_yaml_text(made.to_yaml())._graph == made._graph


WRONG = {
    "{}": "4:34: `steps` of match is missing",
    "{steps: []}": "4:42: expected a list of steps, got an empty list",
    "{steps: [{a: x, b: y}]}": "4:43: expected one step, got the keys a, b",
    "{steps: [{a: x}, {b: y}]}": "4:55: `b` has no verb that states how it follows the previous step",
    "{steps: [{a: x}, {b: {times: 2}}]}": "4:55: `b` has no verb that states how it follows the previous step",
    "{steps: [{a: {next: x}}]}": "4:54: `next` cannot begin a pattern\n  hint: the first step has `where`",
    "{steps: [{a: x}, {b: {where: y}}]}": "4:63: `b` has no verb that states how it follows the previous step",
    "{steps: [{a: x}, {b: {next: y, followed_by: "
    "z}}]}": "4:78: expected one verb, got `next` and `followed_by`",
    "{steps: [{a: {where: x, tims: 2}}]}": "unknown key `tims` in a step of the pattern\n  hint: did you "
    "mean `times`?",
    "{steps: [{a: {where: x, times: many}}]}": "expected a number of rows, got `many`\n  hint: such as "
    "times: 3, times: {from: 2, to: 4}",
    "{steps: [{a: {where: x, times: 0}}]}": "expected 1 row or more, got 0\n  hint: such as times: 3",
    "{steps: [{a: {where: x, times: {from: 3, to: 2}}}]}": "expected `to` of 3 or more, got 2",
    "{steps: [{a: {where: x, times: 2, one_or_more: true}}]}": "`times` conflicts with `one_or_more`",
    "{steps: [{a: {where: x, one_or_more: true, consecutive: true, combinations: "
    "true}}]}": "`combinations` conflicts with `consecutive`",
    "{steps: [{a: {where: {either: [{b: x}]}}}]}": "expected two or more alternatives, got 1",
    "{steps: [{a: x}], within: 0 seconds}": "expected a duration above zero, got `0 seconds`",
    "{steps: [{a: x}], skip: past_lst}": "expected one of none, past_last, to_next, to_first, to_last, got "
    "'past_lst'",
    "{steps: [{a: x}], skip: {past_last: a}}": "expected to_first or to_last with a step, got past_last",
    "{steps: [{a: x}], skip: to_last}": "skip: to_last needs the name of a step",
    "{steps: [{a: x}], order: time}": "expected one of event_time, arrival, got `time`",
}


@pytest.mark.parametrize("match", WRONG)
def test_an_error_in_a_pattern_has_its_position(match: str) -> None:
    source = '{memory: {}, schema: "k string, x boolean, ts timestamp", event_time: ts}'
    text = f"name: p\nsources: {{s: {source}}}\nsteps:\n  m: {{from: s, key_by: k, match: {match}}}\n"
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml_text(text)
    assert WRONG[match] in str(raised.value)


def test_a_misspelled_verb_is_one_error() -> None:
    source = '{memory: {}, schema: "k string, x boolean, ts timestamp", event_time: ts}'
    steps = "{steps: [{a: x}, {b: {folowed_by: x}}]}"
    with pytest.raises(DocumentError) as raised:
        Pipeline.from_yaml_text(
            f"name: p\nsources: {{s: {source}}}\nsteps:\n  m: {{from: s, match: {steps}}}\n"
        )
    [problem] = raised.value.problems
    assert problem.what == "unknown key `folowed_by` in a step of the pattern"
    assert problem.hint.startswith("did you mean `followed_by`?")
