"""The first rows of each key, as a table with ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge
from pydantic import Field

from headrace.errors import OptionError
from headrace.steps.base import Plan
from headrace.steps.expression_checks import check_expressions
from headrace.steps.expressions import describe_keys, names_of, one_line, stable_names
from headrace.steps.facts import CHANGE, Facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.values import Expected, KeyColumns, SqlText
from headrace.steps.keyed import KeyedNode
from headrace.steps.tables.changelog import keyed_columns, row_columns
from headrace.steps.tables.retractions import has_retractions
from headrace.steps.traits import Finding, RealTimeNote, StateBound, Tier
from headrace.steps.unrouted import note_stateful

RANK = "rank"
Ties = Literal["rows", "rank", "dense_rank"]
_DIRECTION = re.compile(
    r"(?P<expression>.*?)(?:(?<!\s)\s+(?P<words>asc|desc))?(?:(?<!\s)\s+nulls\s+(?P<nulls>first|last))?",
    re.IGNORECASE | re.DOTALL,
)


@declare
class TopN(StepNode, KeyedNode):
    """Keeps the first rows of each key: a table with ranks.

    It has the column `rank`; of equal rows, the earlier ones are first. With `ties="rank"` or `"dense_rank"`,
    equal rows have the same rank, and all rows of the first `n` ranks are in the table: after two rows of
    rank 1 the next one has rank 3, or 2 with `dense_rank`.
    """

    input: Input
    _: KW_ONLY
    keys: Annotated[KeyColumns, Field(alias="key_by")]
    n: Annotated[int, Ge(1), Expected("a whole number of rows, 1 or more")]
    """The number of rows of each key."""
    order_by: Annotated[SqlText, Expected("columns to order by", "such as score desc")]
    """The order of the rows, such as `score desc, name`."""
    ties: Ties = "rows"
    """How equal rows are ranked: `rows` one after the other, `rank` or `dense_rank` as in SQL."""

    verb: ClassVar[str] = "top_n"
    key: ClassVar[str] = "top_n"
    nested: ClassVar[bool] = True
    beside: ClassVar[Mapping[str, Any]] = {"keys": "_"}
    label: ClassVar[str] = "top_n"
    example: ClassVar[str] = "such as {n: 3, order_by: score desc}"
    accepts_changes = True
    duplicate_hint: ClassVar[str] = (
        "rename the column before: the results have the columns `rank` and `change`"
    )

    @classmethod
    def applies(cls, keys: Mapping[str, Any]) -> bool:
        """True without a window."""
        return cls.key in keys and "window" not in keys

    def check_values(self) -> None:
        """Check that the order can be parsed."""
        parse_order(self.order_by)

    @property
    def orders(self) -> tuple[tuple[str, str], ...]:
        """The expressions to order by, each with its direction, such as `desc nulls last`."""
        return parse_order(self.order_by)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        columns = keyed_columns(self.keys, row_columns(inputs[0]))
        return replace(
            inputs[0],
            columns=None if columns is None else (*columns, RANK, CHANGE),
            schema=None,
            cdc=False,
            delivered=False,
            hold=0,
            fixed=(),
            keyed=False,
            grows=False,
            change="table",
            table_key=(*names_of(self.keys), RANK) if self.ties == "rows" else (),
        )

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        columns = plan.facts(self.input).columns
        yield from check_expressions([expression for expression, _ in self.orders], columns, "order_by")

    def tier(self, plan: Plan) -> Tier:
        return Tier("kernel", "keeps ranks, and emits those that a micro-batch has changed")

    def state_bound(self, plan: Plan) -> StateBound:
        keys = self.key_text
        if has_retractions(plan.facts(self.input)):
            return StateBound(f"all rows of the table, by {keys}", "the rows of its input")
        if self.ties != "rows":
            kept = f"the rows of the first {self.n} ranks for each {keys}, never expired"
            return StateBound(kept, f"the distinct values of {keys}, and the rows of equal rank")
        return StateBound(f"{self.n} rows for each {keys}, never expired", f"the distinct values of {keys}")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_stateful(plan, self)

    def description(self) -> list[str]:
        ties = f"ranked by {self.ties}" if self.ties != "rows" else ""
        return [f"first {self.n}", describe_keys(self.keys), f"ordered by {self.order_by}", ties]

    def state_fields(self) -> Mapping[str, Any]:
        ties = {"ties": self.ties} if self.ties != "rows" else {}
        return {"keys": stable_names(self.keys), "n": self.n, "order_by": one_line(self.order_by), **ties}


def parse_order(order_by: str) -> tuple[tuple[str, str], ...]:
    """Return the expressions of an ORDER BY text, each with its direction.

    >>> parse_order("score desc, coalesce(a, b)")
    (('score', 'desc'), ('coalesce(a, b)', 'asc'))

    Raises:
        OptionError: an expression is missing.
    """
    parsed = []
    for part in _split(order_by):
        match = _DIRECTION.fullmatch(part.strip())
        if match is None or not match["expression"]:
            raise OptionError(
                f"expected columns to order by, got {order_by!r}",
                where="order_by",
                hint='such as "score desc"',
            )
        nulls = f" nulls {match['nulls'].lower()}" if match["nulls"] else ""
        parsed.append((match["expression"], f"{(match['words'] or 'asc').lower()}{nulls}"))
    return tuple(parsed)


def _split(text: str) -> list[str]:
    """Split a text at commas outside parentheses and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
