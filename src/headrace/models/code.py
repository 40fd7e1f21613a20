"""The type of fields that hold the Python code of a model."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from headrace.access import CODE_HINT, current_code
from headrace.functions.reference import UserCode, reference_to
from headrace.steps.code.function_models import code_text
from headrace.steps.grammar.problems import collect_errors, invalid
from headrace.steps.grammar.values import TEXT_SCHEMA


def _reference(value: Any) -> UserCode:
    if not current_code():
        raise invalid("a model that loads Python is not accepted", CODE_HINT)
    return collect_errors(lambda: reference_to(value, where=""))


Code = Annotated[
    UserCode, PlainValidator(_reference), PlainSerializer(code_text), WithJsonSchema(TEXT_SCHEMA)
]
"""A function or a class as `module:name`; a restricted service refuses it."""
