"""Conditions and measures after parsing: Spark SQL with placeholders, and the value of each placeholder.

A value is a `Navigation` (an expression on one row of the match), an `Aggregation` (over rows of the match)
or the number of the match. An expression on one row can refer to `__classifier` (the variable of the row) and
`__match_number`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CLASSIFIER = "__classifier"
NUMBER = "__match_number"

Labels = tuple[str, ...]
"""Pattern variables; the empty tuple means all rows of the match."""


@dataclass(frozen=True)
class Text:
    """The source text of an expression and its position in the statement."""

    text: str
    at: int


@dataclass(frozen=True)
class Navigation:
    """An expression on one row: the first or last of `labels`, `skip` rows inward, then `shift` rows away."""

    text: str
    labels: Labels = ()
    last: bool = True
    skip: int = 0
    final: bool = False
    shift: int = 0

    def plain(self) -> dict[str, Any]:
        return {
            "kind": "row",
            "labels": list(self.labels),
            "last": self.last,
            "skip": self.skip,
            "final": self.final,
            "shift": self.shift,
        }


@dataclass(frozen=True)
class Aggregation:
    """An aggregate over the rows of some variables, up to this row or, if final, of the whole match."""

    text: str
    labels: Labels = ()
    final: bool = False

    def plain(self) -> dict[str, Any]:
        return {"kind": "aggregate", "labels": list(self.labels), "final": self.final}


@dataclass(frozen=True)
class MatchNumber:
    """The ordinal of the match in its partition, from 1."""

    def plain(self) -> dict[str, Any]:
        return {"kind": "number"}


Value = Navigation | Aggregation | MatchNumber


@dataclass(frozen=True)
class Subquery:
    """An uncorrelated subquery: `scalar`, `in` or `exists`."""

    kind: str
    text: str


@dataclass(frozen=True)
class ExpressionTemplate:
    """An expression over `__v0, __v1, ...` with their values; constant subqueries are `__q0, ...`."""

    text: str
    values: tuple[Value, ...]
    subqueries: tuple[Subquery, ...] = ()
