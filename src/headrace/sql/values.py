"""What a condition or a measure asks of a match, once it is read: Spark SQL with holes, and how each hole is filled.

A value is a `Navigation` (a row is found, and an expression computed on it), an `Aggregation` (over rows of the match) or the
number of the match. An expression on one row may also ask for `__classifier` (the variable the row was matched to) and
`__match_number`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CLASSIFIER = "__classifier"
NUMBER = "__match_number"

Labels = tuple[str, ...]
"""Variables; none stands for all rows of the match."""


@dataclass(frozen=True)
class Text:
    """An expression as it was written, and where it stands in the statement."""

    text: str
    at: int


@dataclass(frozen=True)
class Navigation:
    """An expression on one row: the first or last of some variables, `skip` further in, then `shift` rows on."""

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
    """An aggregate over the rows of some variables, up to this row or, final, of the whole match."""

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
    """A query inside an expression, which may not depend on the row: `scalar`, `in` or `exists`."""

    kind: str
    text: str


@dataclass(frozen=True)
class Holed:
    """An expression over `__v0, __v1, ...` and the values of those; constant subqueries stand as `__q0, ...`."""

    text: str
    values: tuple[Value, ...]
    subqueries: tuple[Subquery, ...] = ()
