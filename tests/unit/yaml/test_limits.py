"""Documents that are too large, too deep, or tagged; and that every reader sees the same tree."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from headrace import Pipeline, connect
from headrace.access import Access, restrict
from headrace.errors import DocumentError
from headrace.plan.graph import Graph
from headrace.plan.validation import problems_of
from headrace.steps.base import Ref
from headrace.steps.rows.columns import Drop
from headrace.yaml.composer import MAX_CHARACTERS
from headrace.yaml.errors import ErrorCollector
from headrace.yaml.load import from_text, loads_code
from headrace.yaml.parsing import build_tree, compose
from headrace.yaml.positions import plain
from headrace.yaml.rules import rules_of_file

NINE = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "[" * 20_000,
            "p:1:101: expected at most 100 levels of lists and mappings\n  hint: write it flatter",
        ),
        (
            "- " * 20_000,
            "p:1:201: expected at most 100 levels of lists and mappings\n  hint: write it flatter",
        ),
        (
            NINE,
            "p:6:10: expected at most 20000 keys and values, aliases included\n  hint: split the document",
        ),
        ("a: &a [*a]", "p:1:8: the alias `*a` is inside the value that it repeats\n  hint: write it out"),
        ("a: &a {b: *a}", "p:1:11: the alias `*a` is inside the value that it repeats\n  hint: write it out"),
        (
            "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 150)),
            "p:99:12: expected at most 100 levels of lists and mappings\n  hint: write it flatter",
        ),
        (
            "k: 1\n" * 10_001,
            "p:10000:4: expected at most 20000 keys and values, aliases included\n  hint: split the document",
        ),
        (
            "#" * (MAX_CHARACTERS + 1),
            "p:1:1: expected at most 262144 characters, got 262145\n"
            "  hint: put data into files beside the document",
        ),
        ("!!null a: 1", "p:1:1: a key cannot have a YAML tag, got `!!null`\n  hint: remove it"),
        ("a: {! b: 1}", "p:1:5: a key cannot have a YAML tag, got `!`\n  hint: remove it"),
        (
            "a: !!binary b",
            "p:1:4: unknown YAML tag `!!binary`\n  hint: remove it; quote a text that starts with !",
        ),
        (
            "a: !!map {b: 1}",
            "p:1:4: unknown YAML tag `!!map`\n  hint: remove it; quote a text that starts with !",
        ),
    ],
)
def test_the_error_has_its_place(text: str, error: str) -> None:
    with pytest.raises(DocumentError) as caught:
        compose(text, file="p")
    assert str(caught.value) == error


def test_an_alias_is_read_as_what_it_repeats() -> None:
    assert _read("a: &a [1, !!str 2]\nb: [*a, *a]") == {"a": [1, "2"], "b": [[1, "2"], [1, "2"]]}


def test_a_file_of_rules_may_be_larger() -> None:
    assert compose("k: 1\n" * 10_001, file="p", data=True)


def test_a_huge_number_in_a_directive_is_an_error() -> None:
    with pytest.raises(DocumentError, match="invalid YAML"):
        compose("%YAML " + "1" * 5000 + "\n---\na: 1", file="p")


def test_a_schema_that_is_nested_too_deeply_is_an_error_of_the_document() -> None:
    schema = '{"type":"array","items":' * 3000 + '"int"' + "}" * 3000
    with pytest.raises(DocumentError, match="nested too deeply"):
        from_text(f"name: p\nsources: {{n: {{memory: {{}}, format: {{avro: {{schema: '{schema}'}}}}}}}}")


def test_a_chain_of_very_many_steps_is_an_error_of_the_plan() -> None:
    nodes = {f"s{n}": Drop(f"s{n}", Ref(f"s{n - 1}"), ("b",)) for n in range(1, 2000)}
    graph = Pipeline("p").read("s0", connect.memory(), schema="a int")._pipeline._graph.plus(*nodes.values())
    assert "it is nested too deeply" in str(problems_of(Graph("p", dict(reversed(graph.nodes.items()))))[0])


@pytest.mark.parametrize(
    "rule", ["{small: \"java_method('a', 'b') = 'c'\"}", '{small: "n in (select 1 from text.`x`)"}']
)
def test_a_rule_that_reaches_the_machine_is_rejected(rule: str) -> None:
    text = f"r: {{steps: [{rule}]}}"
    with restrict(Access()):
        [(name, problem)] = rules_of_file(text, file="rules.yaml").faults
    assert name == "r"
    assert "accepted" in problem.what or "queried as a table" in problem.what
    assert not rules_of_file(text, file="rules.yaml").faults


TAGS = [
    "",
    "",
    "",
    "!!null ",
    "!!binary ",
    "!!str ",
    "!!int ",
    "!!map ",
    "!x ",
    "! ",
    "!<tag:yaml.org,2002:str> ",
]
WORDS = st.sampled_from(["a", "map", "steps", "filter", '"x:y"', "'1'", "1", "true", "~", "<<"])


@st.composite
def tagged(draw: st.DrawFn, depth: int = 3) -> str:
    tag = draw(st.sampled_from(TAGS))
    kind = draw(st.integers(0, 3 if depth else 0))
    if kind <= 1:
        return tag + draw(WORDS)
    inner = st.lists(tagged(depth=depth - 1), max_size=3)
    if kind == 2:
        return f"{tag}[{', '.join(draw(inner))}]"
    keys = [draw(st.sampled_from(TAGS)) + draw(WORDS) for _ in range(draw(st.integers(0, 3)))]
    return f"{tag}{{{', '.join(f'{key}: {draw(tagged(depth=depth - 1))}' for key in keys)}}}"


@settings(max_examples=int(os.environ.get("HEADRACE_EXAMPLES", "300")), deadline=None)
@given(tagged())
def test_an_independent_reader_sees_the_same_tree(text: str) -> None:
    try:
        tree = _read(text)
        known = YAML(typ="safe", pure=True).load(text)
    except (DocumentError, YAMLError, ValueError, TypeError):
        return  # one of them refuses the document, so it is not accepted
    assert _words(tree) == _words(known)
    steps = tree.get("steps") if isinstance(tree, dict) else None
    entries = steps.values() if isinstance(steps, dict) else []
    expected = any(isinstance(entry, dict) and {"map", "filter"} & entry.keys() for entry in entries)
    assert loads_code(text) == expected


def _read(text: str) -> Any:
    errors = ErrorCollector()
    [node] = compose(text, file="p")
    tree = plain(build_tree(node, file="p", environment={}, errors=errors))
    errors.raise_any()
    return tree


def _words(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            "null" if key is None else str(key).lower().replace("~", "null"): _words(v)
            for key, v in value.items()
        }
    return [_words(item) for item in value] if isinstance(value, list) else value
