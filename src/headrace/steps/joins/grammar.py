"""The values that joins share in documents."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from headrace.steps.grammar.problems import collect_errors
from headrace.steps.grammar.values import Expected, NamedExpressions
from headrace.steps.joins.sides import On, key_pairs_of, write_pairs

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
OTHER = "The right stream: a source, a step or an output"
ON = "The key columns: one, a list, or a mapping from left to right"
SELECT = "Names and expressions over left.column and right.column"
WHERE = "An extra condition over left.column and right.column"
