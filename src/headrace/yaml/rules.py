"""Read tables of rules.

A YAML or JSON file maps the id of each rule to the keys of a pattern (`steps`, `within`, `skip`, `select`),
with the optional keys `version`, `description` and `active`. A row of a table or a CSV file is a rule: its
columns are `id`, `pattern` (the same mapping as JSON or YAML text), and optionally `version` and `active`. A
line of a JSON lines file is such a mapping with an `id`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Annotated

from annotated_types import Interval

from headrace.access import CODE_HINT, accepted_environment, current_code
from headrace.errors import DocumentError, Problem
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Skip, Within
from headrace.plan.restrictions import find_rejected
from headrace.steps.expressions import Named
from headrace.steps.grammar.patterns import PatternModel
from headrace.steps.grammar.values import Expected, Flag, Text
from headrace.yaml.errors import ErrorCollector, raise_problem, validate
from headrace.yaml.parsing import build_tree, compose
from headrace.yaml.positions import Fields, KeyedValue, Scalar, Value
from headrace.yaml.reading import read_mapping, read_text

_ROW_HINT = "the columns of a row are `id` and `pattern`, and optionally `version` and `active`"
_FALSE = ("false", "f", "0", "no")


class RuleModel(PatternModel):
    """A rule in a file."""

    label = "the rule"
    version: Annotated[int, Interval(ge=0, lt=2**31), Expected("a version, a whole number")] | None = None
    description: Text = ""
    active: Flag = True


@dataclass(frozen=True)
class Rule:
    """A rule of a table."""

    id: str
    where: str
    pattern: Pattern
    within: Within
    skip: Skip
    select: Named | None = None
    version: int | None = None
    """None if the table has no versions; they are then numbered."""
    active: bool = True


@dataclass(frozen=True)
class Rules:
    """A table of rules: the valid ones, and the problems of the others, by id."""

    rules: tuple[Rule, ...] = ()
    faults: tuple[tuple[str, Problem], ...] = ()

    @property
    def ids(self) -> set[str]:
        """The ids of all rules, valid or not."""
        return {rule.id for rule in self.rules} | {name for name, _ in self.faults}


Reader = tuple[str, Callable[[], Rule]]
"""The id of a rule, and a function that reads it."""


def rules_of_file(content: str, *, file: str) -> Rules:
    """Read the rules of a file; the suffix of its name is the format.

    >>> rules_of_file("small: {steps: [{small: amount < 1}]}", file="rules.yaml").rules[0].id
    'small'

    Raises:
        DocumentError: it is not YAML, JSON or CSV.
    """
    suffix = PurePath(file).suffix.lower()
    if suffix == ".csv":
        return rules_of_rows(csv.DictReader(io.StringIO(content)), where=file)
    if suffix == ".jsonl":
        lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
        return _read_all(_from_line(line, f"{file}:{number}") for number, line in lines)
    return rules_of_tree(_parse(content, file))


def rules_of_tree(value: Value) -> Rules:
    """Read the rules of a mapping from id to pattern."""
    table = read_mapping(value, expected="rules by their ids", hint=RuleModel.example, empty=True)
    return _read_all((name, _reader(name, table.key_at(name), table[name])) for name in table)


def rules_of_rows(rows: Iterable[Mapping[str, str | None]], *, where: str) -> Rules:
    """Read the rules of the rows of a table, whose values are text."""
    return _read_all(_from_row(row, where) for row in rows)


def _read_all(readers: Iterable[Reader]) -> Rules:
    rules, faults = dict[str, Rule](), list[tuple[str, Problem]]()
    for name, read in readers:
        try:
            rule = read()
            if name in rules:
                raise_problem(rule.where, f"duplicate rule `{name}`", "rename one of them")
            rules[name] = rule
        except DocumentError as error:
            faults += [(name, problem) for problem in error.problems]
    invalid = {name for name, _ in faults}
    return Rules(tuple(rule for name, rule in rules.items() if name not in invalid), tuple(faults))


def _reader(name: str, where: str, value: Value) -> Callable[[], Rule]:
    return lambda: _read_rule(name, where, value)


def _read_rule(name: str, where: str, value: Value) -> Rule:
    model = validate(RuleModel, read_mapping(value, expected="a rule", hint=RuleModel.example))
    if not current_code() and (rejected := next(find_rejected((model.pattern, model.select)), None)):
        raise_problem(where, rejected, CODE_HINT)
    return Rule(
        name, where, model.pattern, model.within, model.skip, model.select, model.version, model.active
    )


def _from_line(line: str, where: str) -> Reader:
    content = read_mapping(
        _parse(line, where), expected="a rule", hint='such as {"id": "small", "steps": [...]}'
    )
    if "id" not in content:
        raise_problem(where, "`id` of the rule is missing")
    name = read_text(content["id"])
    return name, _reader(name, where, content.only(set(content) - {"id"}))


def _from_row(row: Mapping[str, str | None], where: str) -> Reader:
    name = row.get("id")
    if not name:
        raise_problem(where, f"a row has no id; its columns are {', '.join(row)}", _ROW_HINT)
    return name, lambda: _read_row(name, row, f"{where}: rule `{name}`")


def _read_row(name: str, row: Mapping[str, str | None], where: str) -> Rule:
    if not (pattern := row.get("pattern")):
        raise_problem(where, "the pattern is missing", _ROW_HINT)
    content = read_mapping(_parse(pattern, where), expected="a pattern", hint=RuleModel.example)
    if version := row.get("version"):
        entry = KeyedValue(where, Scalar(where, version, version))
        content = replace(content, entries={**content.entries, "version": entry})
    rule = _read_rule(name, where, content)
    return replace(rule, active=rule.active and str(row.get("active") or "true").lower() not in _FALSE)


def _parse(content: str, file: str) -> Value:
    nodes = compose(content, file=file, data=True)
    if len(nodes) > 1:
        raise_problem(file, f"expected one document, got {len(nodes)}", "remove the lines with ---")
    if not nodes:
        return Fields(file)
    errors = ErrorCollector()
    tree = build_tree(nodes[0], file=file, environment=accepted_environment(), errors=errors)
    errors.raise_any()
    return tree
