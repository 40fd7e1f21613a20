"""The declaration of a pattern for the kernel: JSON with conditions as text; `Column`s become columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.patterns.elements import Either, Element, Group, Where

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.steps.facts import Time
    from headrace.steps.patterns.match import Match

COLUMN_PREFIX = "__given"
"""The prefix of the hidden columns that hold the pyspark Columns of a pattern."""


class PatternDeclaration:
    """The declaration of a pattern, and the pyspark Columns among its conditions."""

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
                "counted": node.counted,
                "select": None
                if node.select is None
                else [[name, self._text(item)] for name, item in node.select],
            }
        )

    def over(self, frame: DataFrame) -> DataFrame:
        """Return the frame with the pyspark Columns of the pattern."""
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

    def _text(self, condition: Any) -> str:
        if isinstance(condition, str):
            return condition
        name = f"{COLUMN_PREFIX}{len(self.columns)}"
        self.columns[name] = condition
        return name
