"""The bridge to the kernel's patterns: a frame in, tagged rows out.

The kernel gets the pattern as JSON (`declaration`) and the frame with Headrace's own columns. Conditions go
as text, which the kernel reads with Spark's parser: those on the row alone become columns, those on rows
matched so far are evaluated in the step. A pyspark Column refers only to its own row, and becomes a column
here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from headrace.lowering.windows import Counts, Time
from headrace.patterns.elements import Either, Element, Group, Where
from headrace.spark.gateway import java_frame, kernel
from headrace.steps.expressions import Opaque

if TYPE_CHECKING:
    from headrace.steps.patterns.match import Match
    from headrace.steps.patterns.match_rules import MatchRules

GIVEN = "__given"


class Declared:
    """A pattern as the kernel reads it, and the Columns among its conditions."""

    def __init__(self, node: Match, keys: Sequence[str], *, time: Time = "event") -> None:
        self.columns: dict[str, Any] = {}
        self._conditions: list[str] = []
        self._steps = list(node.pattern.names)
        within, skip = node.within, node.skip
        elements = self._sequence(node.pattern.elements)
        self.text = json.dumps(
            {
                "steps": self._steps,
                "elements": elements,
                "conditions": self._conditions,
                "keys": list(keys),
                "within": within.whole,
                "between": within.between,
                "skip": {"kind": skip.kind, "step": skip.step},
                "order": node.order,
                "time": time,
                "counted": counted(node),
                "select": None
                if node.select is None
                else [[name, self._text(item)] for name, item in node.select],
            }
        )

    def over(self, frame: DataFrame) -> DataFrame:
        """The frame with the Columns that the pattern holds."""
        return frame.withColumns(self.columns) if self.columns else frame

    def _sequence(self, elements: tuple[Element, ...]) -> list[dict[str, Any]]:
        return [self._element(element) for element in elements]

    def _element(self, element: Element) -> dict[str, Any]:
        times = element.times
        return {
            "contiguity": element.contiguity,
            **self._body(element),
            "from": times.least if times else None,
            "to": times.most if times else None,
            "optional": element.may_be_absent,
            "greedy": element.greedy,
            "inner": element.repeats,
            "until": self._condition(element.until),
            "gap": element.gap,
        }

    def _body(self, element: Element) -> dict[str, Any]:
        match element.body:
            case Group(elements):
                return {"group": self._sequence(elements)}
            case Either(alternatives):
                return {"either": [self._sequence(part) for part in alternatives]}
            case Where(condition):
                return {"step": self._steps.index(element.name), "where": self._condition(condition)}

    def _condition(self, condition: Any) -> int | None:
        if condition is None:
            return None
        self._conditions.append(self._text(condition))
        return len(self._conditions) - 1

    def _text(self, given: Any) -> str:
        if isinstance(given, str):
            return given
        name = f"{GIVEN}{len(self.columns)}"
        self.columns[name] = given.column if isinstance(given, Opaque) else given
        return name


def counted(node: Match | MatchRules) -> list[str]:
    """The side outputs whose rows are counted only."""
    return [output for output in ("timeouts", "late") if output not in node.outputs]


def matched(
    frame: DataFrame, keys: Sequence[str], node: Match, *, time: Time = "event", counts: Counts | None = None
) -> DataFrame:
    """The tagged rows of a pattern: `__output` is `main`, `timeouts` or `late`.

    Args:
        frame: The input with `__ts timestamp` (null: no event time), and `__position` where arrival order is
            known; if it is a stream, under a watermark, unless `time` is the clock. If not, the pattern is
            found to its end.
        keys: Names of the key's columns.
        node: The pattern.
        time: `clock` for ingestion and processing time, where the clock is the watermark.
        counts: Where rows are counted.
    """
    declared = Declared(node, keys, time=time)
    ready = declared.over(frame)
    operator = kernel(frame.sparkSession).operators.inorder.InOrderOperator
    step = kernel(frame.sparkSession).patterns.MatchStep.apply(java_frame(ready), declared.text)
    if not frame.isStreaming:
        return DataFrame(operator.batch(java_frame(ready), step), frame.sparkSession)
    told = counts or Counts(frame.sparkSession)
    return DataFrame(operator.apply(java_frame(ready), step, told._kernel), frame.sparkSession)


class MatchDriver:
    """A pattern in virtual time without a streaming query.

    The kernel's per-key logic over state in memory.
    """

    def __init__(self, frame: DataFrame, keys: Sequence[str], node: Match) -> None:
        """Take the step's columns from `frame`, whose rows are not looked at."""
        declared = Declared(node, keys)
        classes = kernel(frame.sparkSession)
        step = classes.patterns.MatchStep.apply(java_frame(frame), declared.text)
        self._kernel = classes.operators.inorder.InOrderDriver(step)

    def run(self, script: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the rows of each batch of a script, from an empty state; see `WindowDriver.run`."""
        answer: dict[str, Any] = json.loads(self._kernel.run(json.dumps(list(script))))
        return answer
