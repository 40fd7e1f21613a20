"""The bridge to the kernel's rules.

A frame in, tagged rows out, and Spark's analysis of a rule before the kernel loads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from headrace.lowering.counts import Counts, Time
from headrace.lowering.keyed_steps import run_keyed_step
from headrace.rules.checks import RuleChecks
from headrace.spark.errors import describe_error
from headrace.spark.gateway import JavaError, java_frame, kernel
from headrace.steps.patterns.declaration import counted_outputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.plan.graph import Graph
    from headrace.steps.patterns.match_rules import MatchRules
    from headrace.yaml.rules import Rule


class RuleStep(RuleChecks):
    """The kernel's step, and the checks of a rule before it gets there."""

    def __init__(
        self, frame: DataFrame, graph: Graph, node: MatchRules, keys: Sequence[str], *, time: Time = "event"
    ) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at."""
        super().__init__(graph, node, keys, time=time)
        self.frame = frame
        declared = {
            "keys": list(keys),
            "order": node.order,
            "time": time,
            "counted": counted_outputs(node),
            "measures": None if node.measures is None else node.measures.ddl,
        }
        self.kernel = kernel(frame.sparkSession).rules.RulesStep.apply(
            java_frame(frame), json.dumps(declared)
        )

    def problems(self, rule: Rule) -> Iterator[tuple[str, str]]:
        """Why a rule cannot be used; none where it can."""
        known = list(super().problems(rule))
        yield from known or self._of_kernel(rule)

    def rows(self, counts: Counts | None = None) -> DataFrame:
        """Return the tagged rows: `__output` is `main`, `timeouts` or `late`."""
        return run_keyed_step(self.frame, self.kernel, counts)

    def _of_kernel(self, rule: Rule) -> Iterator[tuple[str, str]]:
        try:
            self.kernel.check(self.declared(rule))
        except (PySparkException, JavaError) as error:
            yield describe_error(error)
