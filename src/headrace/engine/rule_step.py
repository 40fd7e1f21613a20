"""The bridge to the kernel's rules: a frame in, tagged rows out, and what is asked of a rule before it gets there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from headrace.durations import text as length
from headrace.engine.matching import Declared
from headrace.engine.spark_says import spark_says
from headrace.engine.windowing import Counts, Time
from headrace.errors import did_you_mean
from headrace.plan.nodes import Match, MatchRules
from headrace.plan.pattern_rules import grows, pattern_problems

if TYPE_CHECKING:
    from headrace.documents.rules import Rule
    from headrace.plan.graph import Graph


class RuleStep:
    """The kernel's step, and what is asked of a rule before it gets there."""

    def __init__(
        self, frame: DataFrame, graph: Graph, node: MatchRules, keys: Sequence[str], *, time: Time = "event"
    ) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at."""
        self.frame = frame
        self.graph = graph
        self.node = node
        self._keys = tuple(keys)
        self._time: Time = time
        declared = {
            "keys": list(keys),
            "order": node.order,
            "time": time,
            "measures": None if node.measures is None else node.measures.ddl,
        }
        kernel = frame.sparkSession.sparkContext._jvm.org.apache.spark.sql.headrace.rules  # type: ignore[union-attr]
        self.kernel = kernel.RulesStep.apply(frame._jdf, json.dumps(declared))

    def declared(self, rule: Rule) -> str:
        """A rule as the kernel reads it."""
        return Declared(self._match(rule), self._keys, time=self._time).text

    def problems(self, rule: Rule) -> Iterator[tuple[str, str]]:
        """Why a rule can't be used; none where it can."""
        node = self._match(rule)
        found = [*pattern_problems(self.graph, node), *self._measures(rule), *self._bounds(node)]
        yield from found or self._of_kernel(rule)

    def rows(self, counts: Counts | None = None) -> DataFrame:
        """The tagged rows: `__output` is `main`, `timeouts` or `late`."""
        spark = self.frame.sparkSession
        operator = spark.sparkContext._jvm.org.apache.spark.sql.headrace.patterns.InOrderOperator  # type: ignore[union-attr]
        if not self.frame.isStreaming:
            return DataFrame(operator.batch(self.frame._jdf, self.kernel), spark)
        counted = counts or Counts(spark)
        return DataFrame(operator.apply(self.frame._jdf, self.kernel, counted._kernel), spark)

    def _match(self, rule: Rule) -> Match:
        node = self.node
        return Match(
            node.name, node.input, node.keys, rule.pattern, rule.within, rule.skip, node.order, rule.select
        )

    def _measures(self, rule: Rule) -> Iterator[tuple[str, str]]:
        known = self.node.measures.names if self.node.measures is not None else ()
        for name, _ in rule.select or ():
            if name not in known:
                hint = did_you_mean(name, known) if known else "say measures='...' at the step"
                yield f"`{name}` is no measure of the step `{self.node.name}`", hint

    def _bounds(self, node: Match) -> Iterator[tuple[str, str]]:
        if found := grows(node):
            yield found
        longest, within = self.node.longest, node.within.whole or node.within.between
        if longest is not None and (within is None or within > longest):
            took = length(within) if within is not None else "any time"
            yield (
                f"it may take {took}, and rules of this step {length(longest)} at most",
                "make `within` shorter",
            )

    def _of_kernel(self, rule: Rule) -> Iterator[tuple[str, str]]:
        try:
            self.kernel.check(self.declared(rule))
        except (PySparkException, Py4JJavaError) as error:
            yield spark_says(error)
