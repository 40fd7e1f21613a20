"""Patterns in documents: the keys of `match` and of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from headrace.errors import did_you_mean
from headrace.patterns.elements import Skip, SkipKind, Within, skip_of
from headrace.steps.grammar.model import DeclarationModel, DocumentModel, write_as
from headrace.steps.grammar.pattern_steps import STEPS_EXAMPLE, PatternValue
from headrace.steps.grammar.problems import collect_errors, expect, invalid, raise_at
from headrace.steps.grammar.values import TEXT_SCHEMA, Expected, Length, NamedExpressions
from headrace.triggers import LateRows
from headrace.windows import Order

OrderValue = Annotated[
    Order, Field(description="The order in which rows are processed: `event_time` or `arrival`")
]
LateRowsValue = Annotated[
    LateRows, Field(description="`divert`: late rows are a side output; `count`: they are counted")
]
TimeoutsValue = Annotated[
    LateRows, Field(description="`divert`: timeouts are a side output; `count`: they are counted")
]


class WithinModel(DeclarationModel[Within]):
    """The longest duration of a match."""

    label = "within"
    example = "such as 10 minutes or {whole: 10 minutes, between: 1 minute}"
    short = "whole"
    whole: Length | None = Field(default=None, description="From the first row of a match to the last")
    between: Length | None = Field(default=None, description="From one row of a match to the next")

    def check(self) -> None:
        for name, limit in self.values().items():
            if limit == 0:
                raise_at((name,), expect("a duration above zero"))

    def build(self) -> Within:
        return Within(**self.values())


def _skip(value: Any) -> Skip:
    if isinstance(value, Mapping) and (len(value) != 1 or not set(value) <= {"to_first", "to_last"}):
        got = ", ".join(value)
        what = f"expected to_first or to_last with a step, got {got}"
        raise invalid(what, did_you_mean(got, ("to_first", "to_last")))
    if not isinstance(value, str | Mapping | Skip):
        raise expect(f"one of {', '.join(get_args(SkipKind))}")
    return collect_errors(skip_of, value)


_SKIP_TO: dict[str, Any] = {
    "type": "object",
    "properties": {"to_first": TEXT_SCHEMA, "to_last": TEXT_SCHEMA},
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
SkipValue = Annotated[
    Skip,
    PlainValidator(_skip),
    PlainSerializer(lambda skip: {skip.kind: skip.step} if skip.step else skip.kind),
    WithJsonSchema({"anyOf": [{"enum": ["none", "past_last", "to_next"]}, _SKIP_TO]}),
]


class PatternModel(DocumentModel):
    """A pattern: the keys that `match` and a rule have in common."""

    label = "match"
    example = STEPS_EXAMPLE
    pattern: PatternValue = Field(alias="steps", description="The steps of the pattern, in order")
    within: Annotated[Within, write_as(WithinModel)] = Field(
        default=Within(), description="The longest time from the first row to the last, or between rows"
    )
    skip: SkipValue = Field(default=Skip(), description="Where the search continues after a match")
    select: Annotated[NamedExpressions, Expected("names and measures", "such as {at: large.ts}")] | None = (
        Field(default=None, description="The columns of a match, by name")
    )
