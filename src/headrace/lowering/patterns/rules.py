"""Lower `match_rules` to the kernel's rules, and check rules with Spark's analyzer before they are loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from headrace.lowering.counts import Counts
from headrace.lowering.keyed_steps import run_keyed_step
from headrace.rules.checks import RuleChecks
from headrace.spark.errors import describe_error
from headrace.spark.gateway import JavaError, java_frame, kernel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.plan.graph import Graph
    from headrace.steps.facts import Time
    from headrace.steps.patterns.match_rules import MatchRules
    from headrace.yaml.rules import Rule


class RuleStep(RuleChecks):
    """The kernel's step of rules, and the checks of a rule before it is loaded."""

    def __init__(
        self, frame: DataFrame, graph: Graph, node: MatchRules, keys: Sequence[str], *, time: Time = "event"
    ) -> None:
        """Create the step over the columns of `frame`."""
        super().__init__(graph, node, keys, time=time)
        self.frame = frame
        declared = {
            "keys": list(keys),
            "order": node.order,
            "time": time,
            "counted": node.counted,
            "measures": None if node.measures is None else node.measures.ddl,
        }
        self.kernel = kernel(frame.sparkSession).rules.RulesStep.apply(
            java_frame(frame), json.dumps(declared)
        )

    def problems(self, rule: Rule) -> Iterator[tuple[str, str]]:
        """Yield the reasons why a rule cannot be used, each with a hint."""
        known = list(super().problems(rule))
        yield from known or self._kernel_problems(rule)

    def rows(self, counts: Counts | None = None) -> DataFrame:
        """Return the tagged rows: `__output` is `main`, `timeouts` or `late`."""
        return run_keyed_step(self.frame, self.kernel, counts)

    def _kernel_problems(self, rule: Rule) -> Iterator[tuple[str, str]]:
        try:
            self.kernel.check(self.declared(rule))
        except (PySparkException, JavaError) as error:
            yield describe_error(error)
