"""The keys and values that joins share in documents."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.problems import collect_errors
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import Condition, Expected, NamedExpressions, Reference
from headrace.steps.joins.sides import How, On, key_pairs_of, write_pairs

OnValue = Annotated[
    On,
    PlainValidator(lambda on: collect_errors(key_pairs_of, on, "")),
    PlainSerializer(write_pairs),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
                {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
            ]
        }
    ),
]
"""A column, a list of columns, or a mapping from left to right columns."""
PairColumns = Annotated[
    NamedExpressions, Expected("names and columns of a side", "such as {price: right.price}")
]
HowValue = Annotated[How, Field(description="The kind of join")]
SelectValue = Annotated[
    PairColumns | None, Field(description="Names and expressions over left.column and right.column")
]
WhereValue = Annotated[
    Condition | None, Field(description="An extra condition over left.column and right.column")
]


class JoinOptions(DocumentModel):
    """The base of values of `join` in a document."""

    label = "join"
    other: Reference = Field(alias="with", description="The right stream: a source, a step or an output")


class JoinOnOptions(JoinOptions):
    """The base of values with key columns."""

    on: OnValue = Field(description="The key columns: one, a list, or a mapping from left to right")


class JoinModel(StepModel):
    """The base of joins in a document."""

    key = "join"
    other_key = "with"
