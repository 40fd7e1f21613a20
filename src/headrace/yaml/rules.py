"""Tables of rules: the step that reads one, and what stands in the table.

A file in YAML or JSON maps the id of each rule to what `match` says of a pattern (`steps`, `within`, `skip`, `select`),
with `version`, `description` and `active` if one likes. In a table, and in a CSV file, a row is a rule: its columns are
`id`, `pattern` (the same map as JSON or YAML text), and perhaps `version` and `active`. In JSON lines it is a map with an `id`.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import get_args

from headrace.errors import DocumentError, Problem
from headrace.patterns.building import Pattern
from headrace.patterns.elements import Order, Skip, Within
from headrace.steps.base import Ref
from headrace.steps.expressions import Named
from headrace.steps.patterns.match_rules import MatchRules, rules_node
from headrace.yaml import options, yamltext
from headrace.yaml.faults import Faults, at, fault
from headrace.yaml.matching import FATES, MATCH, length
from headrace.yaml.reading import Reader, fields, flag, record, text, word
from headrace.yaml.tree import Fields, Scalar, Value

_HINT = "such as match_rules: {rules: rules.yaml, measures: at timestamp}"
_RULE_HINT = "such as steps: [{small: amount < 1}, {large: {followed_by: amount > 500}}]"
_ROW_HINT = "a row has `id` and `pattern`, and perhaps `version` and `active`"
_FALSE = ("false", "f", "0", "no")


@dataclass(frozen=True)
class Rule:
    """A rule as it stands in a table."""

    id: str
    where: str
    pattern: Pattern
    within: Within
    skip: Skip
    select: Named | None = None
    version: int | None = None
    """None where the table counts no versions: Headrace does."""
    active: bool = True


@dataclass(frozen=True)
class Rules:
    """A table of rules: those that can be read, and what is wrong with the others, by id."""

    rules: tuple[Rule, ...] = ()
    faults: tuple[tuple[str, Problem], ...] = ()

    @property
    def ids(self) -> set[str]:
        """All that the table has, good or not."""
        return {rule.id for rule in self.rules} | {name for name, _ in self.faults}


def match_rules(value: Value, keys: Named) -> Callable[[str, Ref], MatchRules]:
    """What makes the node of a `match_rules`, from its name and input."""
    given = fields(value, wanted="the keys of match_rules", hint=_HINT)
    read = record(given, _STEP, "match_rules", required=("rules",), hint=_HINT)
    table = read.pop("rules")
    return lambda name, ref: rules_node(name, ref, keys, table, **read)


def rules_of_file(content: str, *, file: str) -> Rules:
    """The rules of a file, whose name tells what it is.

    >>> rules_of_file("small: {steps: [{small: amount < 1}]}", file="rules.yaml").rules[0].id
    'small'

    Raises:
        DocumentError: it isn't YAML, JSON or CSV at all, so that nothing is known of any rule.
    """
    suffix = PurePath(file).suffix.lower()
    if suffix == ".csv":
        return rules_of_rows(csv.DictReader(io.StringIO(content)), where=file)
    if suffix == ".jsonl":
        lines = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
        return _collected(_of_line(line, f"{file}:{number}") for number, line in lines)
    return rules_of_tree(_parsed(content, file))


def rules_of_tree(value: Value) -> Rules:
    """The rules of a mapping from id to pattern."""
    found = fields(value, wanted="rules by their ids", hint=_RULE_HINT, empty=True)
    return _collected(_of_entry(name, found) for name in found)


def rules_of_rows(rows: Iterable[Mapping[str, str | None]], *, where: str) -> Rules:
    """The rules of a table's rows, their values as text."""
    return _collected(_of_row(row, where) for row in rows)


Read = tuple[str, Callable[[], Rule]]


def _collected(several: Iterable[Read]) -> Rules:
    rules, faults = dict[str, Rule](), list[tuple[str, Problem]]()
    for name, read in several:
        try:
            rule = read()
            if name in rules:
                fault(rule.where, f"there are two rules `{name}`", "give each an id of its own")
            rules[name] = rule
        except DocumentError as error:
            faults += [(name, problem) for problem in error.problems]
    wrong = {name for name, _ in faults}
    return Rules(tuple(rule for name, rule in rules.items() if name not in wrong), tuple(faults))


def _of_entry(name: str, table: Fields) -> Read:
    return name, lambda: _rule(name, table.key_at(name), table[name])


def _of_line(line: str, where: str) -> Read:
    given = fields(_parsed(line, where), wanted="a rule", hint='such as {"id": "small", "steps": [...]}')
    name = text(given["id"]) if "id" in given else fault(where, "`id` of the rule is missing")
    rest = Fields(given.where, {key: entry for key, entry in given.entries.items() if key != "id"})
    return name, lambda: _rule(name, where, rest)


def _of_row(row: Mapping[str, str | None], where: str) -> Read:
    name = row.get("id") or fault(where, f"a row has no id; its columns are {', '.join(row)}", _ROW_HINT)
    place = f"{where}: rule `{name}`"
    return name, lambda: _of_columns(name, row, place)


def _of_columns(name: str, row: Mapping[str, str | None], place: str) -> Rule:
    if not (pattern := row.get("pattern")):
        fault(place, "its pattern is missing", _ROW_HINT)
    given = fields(_parsed(pattern, place), wanted="a pattern", hint=_RULE_HINT)
    version = row.get("version")
    own = _rule(name, place, given)
    return Rule(
        name, place, own.pattern, own.within, own.skip, own.select,
        _version(Scalar(place, version, version)) if version else own.version,
        own.active and str(row.get("active") or "true").lower() not in _FALSE,
    )  # fmt: skip


def _rule(name: str, where: str, value: Value) -> Rule:
    given = fields(value, wanted="a rule", hint=_RULE_HINT)
    read = record(given, _RULE, f"the rule `{name}`", required=("steps",), hint=_RULE_HINT)
    return Rule(
        name, where, Pattern(read["steps"]), read.get("within", Within()), read.get("skip", Skip()),
        read.get("select"), read.get("version"), read.get("active", True),
    )  # fmt: skip


def _parsed(content: str, file: str) -> Value:
    nodes = yamltext.nodes_of(content, file=file)
    if len(nodes) > 1:
        fault(file, f"expected one document, got {len(nodes)}", "remove the lines with ---")
    if not nodes:
        return Fields(file)
    faults = Faults()
    tree = yamltext.tree(nodes[0], file=file, environment=os.environ, faults=faults)
    faults.raise_any()
    return tree


def _version(value: Value) -> int:
    found = text(value, wanted="a version, a whole number")
    if not found.isdigit() or int(found) > 2**31 - 1:
        fault(value.where, f"expected a version, a whole number, got {value}")
    return int(found)


def _table(value: Value) -> object:
    if isinstance(value, Fields):
        return options.connector(value, (), "rules")
    return text(value, wanted="a file of rules, or a table such as {postgres: {...}}")


def _longest(value: Value) -> str:
    with at(value):
        length(value)
    return text(value)


_STEP: dict[str, Reader] = {
    "rules": _table,
    "measures": options.schema,
    "order": lambda value: word(value, get_args(Order)),
    "longest": _longest,
    **FATES,
}
_RULE: dict[str, Reader] = {
    **{key: reader for key, reader in MATCH.items() if key not in ("order", *FATES)},
    "version": _version,
    "description": text,
    "active": flag,
}
