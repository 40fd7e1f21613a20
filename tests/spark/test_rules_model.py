"""Many rules in one operator find what each would find alone.

In order, out of order, restarted, changed on the way.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.spark.test_patterns_model import ROWS, SECOND, declare, patterns, script

from headrace.lowering.keyed_steps import KeyedStepDriver
from headrace.lowering.patterns.matches import match_driver
from headrace.lowering.patterns.rules import RuleStep
from headrace.patterns.elements import Skip
from headrace.plan.graph import Graph
from headrace.rules.log import ActiveRule, RuleSet
from headrace.steps.base import Ref
from headrace.steps.patterns.match import Match
from headrace.steps.patterns.match_rules import MatchRules
from headrace.yaml.rules import Rule

COLUMNS = "k string, at int, letter string, __ts timestamp"
CASES = 25
KINDS = st.sampled_from(["none", "past_last", "to_next"])
RULES = st.lists(
    st.tuples(patterns(), st.sampled_from([(3, None), (8, None), (8, 3)]), KINDS), min_size=2, max_size=5
)
SETTINGS = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Operator:
    """The rules in one operator, in virtual time."""

    def __init__(self, spark: Any) -> None:
        node = MatchRules("m", Ref("s"), (("k", "k"),), "rules.yaml")
        self.step = RuleStep(spark.createDataFrame([], COLUMNS), Graph("g", {}), node, ["k"])
        self.run = KeyedStepDriver(spark, self.step.kernel).run

    def rule_set(self, number: int, rules: dict[str, tuple[Match, int, int]]) -> str:
        """Rules by id: the pattern, its serial number, and the set it is in since."""
        known = tuple(
            ActiveRule(name, serial, serial, since, self.step.declared(as_rule(name, match)))
            for name, (match, serial, since) in rules.items()
        )
        return RuleSet(0, number=number, rules=known).as_json


def as_rule(name: str, match: Match) -> Rule:
    return Rule(name, name, match.pattern, match.within, match.skip)


def alone(spark: Any, match: Match, batches: list[dict[str, Any]]) -> Counter[str]:
    frame = spark.createDataFrame([], COLUMNS)
    answer = match_driver(frame, ["k"], match).run(batches)
    tagged = [row for event in answer["events"] for row in event if row["__output"] != "late"]
    return Counter(
        format_row(
            row["__output"], row[f"__{row['__output']}"], lambda row: {n: row[n] for n in match.pattern.names}
        )
        for row in tagged
    )


def together(answer: dict[str, Any], rule: str, version: int) -> Counter[str]:
    tagged = [row for event in answer["events"] for row in event if row["__output"] != "late"]
    own = [(row["__output"], row[f"__{row['__output']}"]) for row in tagged]
    return Counter(
        format_row(kind, row, lambda row: row["matched"])
        for kind, row in own
        if (row["rule"], row["version"]) == (rule, version)
    )


def format_row(kind: str, row: dict[str, Any], steps: Any) -> str:
    """A result as text, with the time it has as a row."""
    return json.dumps([kind, row["k"], row["__ts"], steps(row)], sort_keys=True)


@SETTINGS
@given(RULES, ROWS, st.randoms(use_true_random=False), st.integers(1, 4))
def test_rules_together_find_what_each_finds_alone(
    spark: SparkSession, rules: Any, rows: Any, random: Any, cuts: Any
) -> None:
    matches = [declare(steps, limits, Skip(kind)) for steps, limits, kind in rules]
    order = list(range(len(rows)))
    random.shuffle(order)
    batches = script(rows, order, cuts)
    operator = Operator(spark)
    loaded = operator.rule_set(1, {f"r{i}": (match, i + 1, 1) for i, match in enumerate(matches)})
    answer = operator.run([{"rows": [], "rules": loaded}, *batches])
    for i, match in enumerate(matches):
        assert together(answer, f"r{i}", i + 1) == alone(spark, match, batches), f"r{i}"
    assert answer["keys"] == 0, "what has timed out is forgotten"
    assert answer["counts"]["dropped_matches"] == 0


@SETTINGS
@given(RULES, RULES, ROWS, ROWS, st.integers(1, 3))
def test_a_change_touches_only_the_rules_it_changes(
    spark: SparkSession, before: Any, after: Any, early: Any, late: Any, cuts: Any
) -> None:
    """The first rule stays.

    Those of `before` are retired, those of `after` see only rows that came after them.
    """
    (kept, *retired), added = (
        [declare(steps, limits, Skip(kind)) for steps, limits, kind in rules] for rules in (before, after)
    )
    later = [(key, ts + 13, letter) for key, ts, letter in late]
    first = script(early, list(range(len(early))), cuts)[:-2]  # rows still wait, and partial matches are open
    second = move(script(later, list(range(len(later))), cuts), len(early))
    operator = Operator(spark)
    stays = {"kept": (kept, 1, 1)}
    old = {f"old{i}": (match, 2 + i, 1) for i, match in enumerate(retired)}
    new = {f"new{i}": (match, 100 + i, 2) for i, match in enumerate(added)}
    answer = operator.run(
        [
            {"rows": [], "rules": operator.rule_set(1, stays | old)},
            *first,
            {"rows": [], "rules": operator.rule_set(2, stays | new)},
            *second,
        ]
    )
    assert together(answer, "kept", 1) == alone(spark, kept, [*first, *second])
    for i, match in enumerate(added):
        assert together(answer, f"new{i}", 100 + i) == alone(spark, match, second), f"new{i}"
    for i, match in enumerate(retired):
        ran = together(answer, f"old{i}", 2 + i)
        assert ran == alone(spark, match, first), f"old{i}"
    assert answer["keys"] == 0, "nothing is left of retired rules"


def move(batches: list[dict[str, Any]], by: int) -> list[dict[str, Any]]:
    """The same batches, their rows numbered from elsewhere, and their watermarks behind the first rows'."""
    return [
        {**batch, "rows": [{**row, "at": row["at"] + by} for row in batch["rows"]]}
        | ({"watermark": max(batch["watermark"], 13 * SECOND)} if "watermark" in batch else {})
        for batch in batches
    ]
