"""Tables of rules: all forms are equal, errors name rule and position, and steps round-trip through YAML."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace import Pipeline, connect
from headrace.errors import DocumentError, OptionError, PlanError, SourceError
from headrace.explain.explanation import explain
from headrace.rules.log import ActiveRule, RuleFault, RuleLog, RuleSet
from headrace.steps.patterns.match_rules import MatchRules
from headrace.yaml.rules import Rules, rules_of_file, rules_of_rows
from headrace.yaml.schema import document_schema

PATTERN = {
    "steps": [{"small": "n < 1"}, {"large": {"followed_by": "n > 100 * small.n"}}],
    "within": "1 minute",
    "select": {"n": "large.n"},
}
YAML = """
small_then_large:
  version: 3
  steps: [{small: n < 1}, {large: {followed_by: n > 100 * small.n}}]
  within: 1 minute
  select: {n: large.n}
"""


def summary(read: Rules) -> list[tuple[object, ...]]:
    return [(r.id, r.version, r.pattern, r.within, r.skip, r.select, r.active) for r in read.rules]


def test_yaml_json_lines_csv_and_rows_give_the_same_rules() -> None:
    first = summary(rules_of_file(YAML, file="rules.yaml"))
    assert len(first) == 1
    as_json = json.dumps({"small_then_large": {"version": 3, **PATTERN}})
    as_line = json.dumps({"id": "small_then_large", "version": 3, **PATTERN}) + "\n\n"
    quoted = json.dumps(PATTERN).replace('"', '""')
    as_csv = f'id,version,pattern\nsmall_then_large,3,"{quoted}"\n'
    row = {"id": "small_then_large", "version": "3", "pattern": json.dumps(PATTERN), "active": "t"}
    assert summary(rules_of_file(as_json, file="rules.json")) == first
    assert summary(rules_of_file(as_line, file="rules.jsonl")) == first
    assert summary(rules_of_file(as_csv, file="rules.csv")) == first
    assert summary(rules_of_rows([row], where="table")) == first
    assert not rules_of_rows([row | {"active": "false"}], where="table").rules[0].active
    assert rules_of_file("", file="rules.yaml") == Rules()


WRONG_RULES = {
    "a: {steps: []}": "rules.yaml:1:12: expected a list of steps, got an empty list",
    "a: {steps: [{x: y}], version: new}": "rules.yaml:1:31: expected a version, a whole number, got `new`",
    "a: {steps: [{x: y}], order: arrival}": "unknown key `order` in the rule",
    "a: 5": "expected a rule, got `5`",
}


@pytest.mark.parametrize("text", WRONG_RULES)
def test_a_wrong_rule_leaves_the_others_readable(text: str) -> None:
    read = rules_of_file(f"{text}\ngood: {{steps: [{{x: y}}]}}\n", file="rules.yaml")
    assert [rule.id for rule in read.rules] == ["good"]
    assert WRONG_RULES[text] in "\n".join(str(problem) for _, problem in read.faults)
    assert read.ids == {"a", "good"}


WRONG_TABLES = {
    ("rules.yaml", "a: ["): "rules.yaml:",
    ("rules.yaml", "[]"): "expected rules by their ids, got",
    ("rules.yaml", "a: {steps: [{x: y}]}\n---\nb: {steps: [{x: y}]}"): "expected one document, got 2",
    ("rules.jsonl", '{"steps": []}'): "rules.jsonl:1: `id` of the rule is missing",
    ("rules.csv", "name,pattern\nx,y\n"): "a row has no id; its columns are name, pattern",
}


@pytest.mark.parametrize("file", WRONG_TABLES)
def test_a_table_that_cannot_be_parsed_is_an_error(file: tuple[str, str]) -> None:
    with pytest.raises(DocumentError) as caught:
        rules_of_file(file[1], file=file[0])
    assert WRONG_TABLES[file] in str(caught.value)


def test_two_rules_of_one_id_and_a_row_without_a_pattern_are_faults() -> None:
    row = {"id": "a", "pattern": "{steps: [{x: y}]}"}
    twice = rules_of_rows([row, row, {"id": "b", "pattern": None}], where="postgres table rules")
    assert [str(problem) for _, problem in twice.faults] == [
        "postgres table rules: rule `a`: duplicate rule `a`\n  hint: rename one of them",
        "postgres table rules: rule `b`: the pattern is missing\n"
        "  hint: the columns of a row are `id` and `pattern`, and optionally `version` and `active`",
    ]


def pipeline(**options: object) -> Pipeline:
    made = Pipeline("p")
    tx = made.read("s", connect.memory(), schema="k string, n double, ts timestamp").event_time("ts")
    options = {"rules": "rules.yaml"} | options
    tx.key_by("k").match_rules("alerts", **options).write("o", connect.memory())  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rules": Path("rules.json"), "measures": "at timestamp, n double", "order": "arrival", "longest": "1 hour"},
        {"rules": connect.sqlite(path="rules.db", table="rules")},
        {"late_rows": "count", "timeouts": "count"},
    ],
    ids=["plain", "all of it", "table", "counted"],
)  # fmt: skip
def test_a_step_with_rules_goes_to_a_document_and_back(options: dict[str, object]) -> None:
    original = pipeline(**options)
    loaded = Pipeline.from_yaml_text(original.to_yaml())
    assert loaded._graph.of(MatchRules) == original._graph.of(MatchRules)
    jsonschema = pytest.importorskip("jsonschema")
    from ruamel.yaml import YAML

    schema = document_schema(["memory", "sqlite"])
    jsonschema.validate(YAML(typ="safe").load(original.to_yaml()), schema)


def test_explain_shows_the_table_of_rules() -> None:
    text = str(explain(pipeline(longest="1 hour", measures="n double")._plan()))
    assert "the rules of rules.yaml, read at the start of each batch" in text
    assert "each within 1 hour at most" in text
    assert "kept for the `within` of their rule, 1 hour at most" in text
    assert "all rules run in one operator" in text
    assert "unrouted timeouts are counted and stored in files" in text
    counted = str(explain(pipeline(timeouts="count")._plan()))
    assert "timeouts are only counted" in counted
    assert "unrouted late rows are counted and stored in files" in counted
    assert (
        "rules are read at the start of each micro-batch, and real-time tasks run for a whole batch" in text
    )


WRONG_STEPS = {
    "{}": "`rules` of match_rules is missing",
    "{rules: rules.txt}": "rules.txt is not a file of rules\n  hint: its name must end with .yaml",
    "{rules: {memory: {}}}": "memory does not support tables of rules\n  hint: use a file, postgres, mysql or "
    "sqlite",
    "{rules: r.yaml, order: sideways}": "expected one of event_time, arrival, got `sideways`",
    "{rules: r.yaml, longest: soon}": "soon",
    "{rules: r.yaml, measures: 'rule string'}": "two columns are called `rule`",
    "{rules: r.yaml, measures: 'k string'}": "two columns are called `k`",
}


@pytest.mark.parametrize("options", WRONG_STEPS)
def test_an_error_in_match_rules_has_its_position(options: str) -> None:
    source = '{memory: {}, schema: "k string, ts timestamp", event_time: ts}'
    step = f"{{from: s, key_by: k, match_rules: {options}}}"
    text = (
        f"name: p\nsources: {{s: {source}}}\nsteps:\n  m: {step}\nsinks: {{o: {{from: m, memory: {{}}}}}}\n"
    )
    with pytest.raises((DocumentError, PlanError)) as caught:
        Pipeline.from_yaml_text(text).check()
    assert WRONG_STEPS[options] in str(caught.value)
    assert ":4:" in str(caught.value)


def test_a_step_that_waits_for_matches_must_know_how_late_they_can_be() -> None:
    made = Pipeline("p")
    tx = made.read("s", connect.memory(), schema="k string, n double, ts timestamp").event_time("ts")
    alerts = tx.key_by("k").match_rules("alerts", rules="rules.yaml")
    alerts.distinct("once", on="rule", within="1 hour").write("o", connect.memory())
    with pytest.raises(PlanError, match="the delay of its input `alerts` has no bound"):
        made.check()


def test_wrong_options_of_match_rules_are_errors() -> None:
    with pytest.raises(OptionError, match="expected a file or a table of rules, got 5"):
        pipeline(rules=5)
    with pytest.raises(OptionError, match="expected order to be event_time or arrival, got 'sideways'"):
        pipeline(order="sideways")


def test_the_log_knows_the_rules_of_every_epoch(tmp_path: Path) -> None:
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "7").touch()
    rule = ActiveRule("a", 1, 1, 1, "{}")
    fault = RuleFault("b", None, "no", "", "rules.yaml:1:1", "2026-01-01T00:00:00+00:00")
    first = RuleSet(0, "x", 1, (rule,), {"a": 1}, 1)
    second = RuleSet(5, "y", 2, (), {"a": 1}, 1, (fault,))
    log = RuleLog(tmp_path)
    log.add(first)
    log.add(second)
    with (tmp_path / "rules.jsonl").open("a") as file:
        file.write('{"epoch": 9, "dig')  # the run died while writing it
    again = RuleLog(tmp_path)
    assert (again.at(4), again.at(5), again.at(8), again.last, again.last_started_epoch) == (
        first,
        second,
        second,
        second,
        7,
    )
    assert RuleLog(tmp_path / "elsewhere").last is None


def test_missing_rule_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"the table `rules` at .*none.db cannot be read: the file does not exist"
    ):
        connect.sqlite(path=tmp_path / "none.db", table="rules").listing().rows()
    (tmp_path / "empty.db").touch()
    with pytest.raises(SourceError, match=r"unknown table `rules` at .*empty.db"):
        connect.sqlite(path=tmp_path / "empty.db", table="rules").listing().rows()
    with pytest.raises(OptionError, match="the rows of memory cannot be listed"):
        connect.memory().listing()
