"""Lower expectations: the hidden column `__violated` of a row has the names of the rules that it violates."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headrace.analytics.declare import VIOLATED, Expect
from headrace.functions.failures import REASON, expectation_message, rename_reserved
from headrace.lowering.counts import VIOLATED_RULE, Counts
from headrace.lowering.dispatch import EpochStep, lower, select_output
from headrace.lowering.expressions import HIDDEN, column, visible_columns
from headrace.lowering.tables.changes import new_rows
from headrace.spark.gateway import java_column, java_session, kernel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lowering.lowering import Lowering
    from headrace.steps.base import Ref

_log = logging.getLogger("headrace")
_VIOLATED = f"{HIDDEN}violated"
"""The names of the violated rules; empty for a row that satisfies all."""
_PASSED = f"{HIDDEN}passed"


_SAMPLED, _SAMPLED_LENGTH = 3, 1000
"""The number of rows in the sample of a rule, and the length at which each is truncated."""


class RuleCounts(Counts):
    """The row counters of an expectation, with those of its rules and samples of rows that violate them."""

    def __init__(self, spark: SparkSession, node: Expect) -> None:
        super().__init__(spark)
        self._step = node.name
        self._kernel_of = kernel(spark).analytics.CheckRule
        self.rules = {name: Counts(spark) for name, _ in node.rules}
        self.samplers: dict[str, Any] = {
            name: self._kernel_of.newSampler(java_session(spark), _SAMPLED, _SAMPLED_LENGTH)
            for name in self.rules
        }
        self.samples: Mapping[str, Sequence[str]] = dict.fromkeys(self.rules, ())
        """The rows of the last epoch in which a rule was violated, as JSON."""

    def column(self, rule: str, condition: Column, row: Column) -> Column:
        """Return the column that checks a rule, and counts and samples the rows that violate it."""
        counts, sampler = self.rules[rule]._kernel, self.samplers[rule]
        return Column(self._kernel_of.column(java_column(condition), java_column(row), counts, sampler))

    def take(self, epoch: int) -> dict[str, int]:
        """Return the counts of one epoch, with those of each rule, which are logged."""
        violated: dict[str, int] = {}
        for name, counts in self.rules.items():
            if violations := counts.take(epoch).get("unmatched", 0):
                _log.info("`%s`: epoch %d: %d rows violate `%s`", self._step, epoch, violations, name)
            violated[f"{VIOLATED_RULE}{name}"] = violations
        # Without duplicates: sinks that read the step each compute its rows.
        taken = {
            name: list(dict.fromkeys(self._kernel_of.take(sampler)))
            for name, sampler in self.samplers.items()
        }
        self.samples = {name: rows or self.samples[name] for name, rows in taken.items()}
        return {**super().take(epoch), **violated}


class QueryExpectation(EpochStep):
    """An expectation in one query, with its counters."""

    def __init__(self, node: Expect, spark: SparkSession) -> None:
        self.counts: RuleCounts = RuleCounts(spark, node)

    def sampled_rows(self) -> Mapping[str, Sequence[str]]:
        return self.counts.samples


@lower.register(Expect)
def _expect(node: Expect, lowering: Lowering) -> DataFrame:
    frame = new_rows(node, node.input, lowering)
    held = lowering.inputs.once(node.name, lambda: QueryExpectation(node, lowering.spark))
    return check_rules(frame, node, held.counts)


def check_rules(frame: DataFrame, node: Expect, counts: RuleCounts) -> DataFrame:
    """Add the names of the violated rules to each row, and count them."""
    row = F.struct(*visible_columns(frame))
    violated = [
        F.when(~counts.column(name, _holds(condition), row), F.lit(name)) for name, condition in node.rules
    ]
    rows = frame.withColumn(_VIOLATED, F.array_compact(F.array(*violated)))
    passed = F.size(_VIOLATED) == 0
    if node.on_fail == "fail":
        message = F.concat(F.lit(expectation_message(node.name)), F.array_join(_VIOLATED, ", "))
        passed = F.when(passed, F.lit(True)).otherwise(F.raise_error(message).cast("boolean"))
    rows = rows.withColumn(_PASSED, _count(rows, passed, counts))
    # Used as a filter, so that the counting columns are computed even if no later step reads them. Spark
    # would simplify `passed or true`, and then count nothing.
    keeps_all = node.on_fail in ("warn", "dead_letter")
    read = F.col(_PASSED).cast("int") + F.size(_VIOLATED) >= 0
    return rows.where(read if keeps_all else F.col(_PASSED))


@select_output.register(Expect)
def _output(node: Expect, ref: Ref, rows: DataFrame) -> DataFrame:
    if not ref.output:
        kept = rows if node.on_fail == "warn" else rows.where(F.col(_PASSED))
        return kept.drop(_VIOLATED, _PASSED)
    conditions = F.create_map(
        *(F.lit(text) for name, rule in node.rules for text in (name, f"{name}: {rule}"))
    )
    reasons: Any = F.transform(F.col(_VIOLATED), lambda name: F.element_at(conditions, name))
    failed = rows.where(~F.col(_PASSED))
    names = rename_reserved(
        [name for name in rows.columns if not name.startswith(HIDDEN)], (REASON, VIOLATED)
    )
    columns = [each.alias(name) for each, name in zip(visible_columns(failed), names, strict=True)]
    return failed.select(
        *columns, F.array_join(reasons, "; ").alias(REASON), F.col(_VIOLATED).alias(VIOLATED)
    )


def _holds(condition: Any) -> Column:
    return F.coalesce(column(condition).cast("boolean"), F.lit(False))


def _count(frame: DataFrame, condition: Column, counts: Counts) -> Column:
    counted = kernel(frame.sparkSession).lookups.CountMatches
    return Column(counted.column(java_column(condition), counts._kernel))
