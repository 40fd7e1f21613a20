"""The types of values in documents: text, conditions, references, numbers, durations and columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from annotated_types import Ge, MinLen
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    SerializationInfo,
    StrictBool,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from headrace.durations import microseconds
from headrace.durations import text as duration_text
from headrace.steps.base import Ref
from headrace.steps.expressions import Expression, Named, expression_of, sql_text, sql_texts
from headrace.steps.grammar.model import Written
from headrace.steps.grammar.problems import (
    EXPECTED,
    EXPECTED_TEXT,
    INVALID,
    collect_errors,
    details_of,
    expect,
    invalid,
    validation_error,
)

MICROSECONDS = "microseconds"
"""The context of a document whose durations are numbers."""
TEXT_SCHEMA: dict[str, Any] = {"type": "string"}
NAMED_SCHEMA: dict[str, Any] = {"type": "object", "additionalProperties": TEXT_SCHEMA, "minProperties": 1}


@dataclass(frozen=True)
class Expected:
    """Annotates a type with its description in errors: "expected a condition in Spark SQL, got a list"."""

    what: str
    hint: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._validate, handler(source))

    def _validate(self, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            own = [item for item in error.errors() if not item["loc"]]
            inner = [details_of(item) for item in error.errors() if item["loc"]]
            if inner:  # a list with wrong items is also reported as too short
                raise validation_error(inner) from None
            if own[0]["type"] == INVALID:
                raise
            if count := own[0].get("ctx", {}).get("actual_length"):
                raise invalid(f"expected {self.what}, got {count}", self.hint) from None
            text = own[0]["type"] in ("string_type", EXPECTED_TEXT)
            raise invalid(self.what, self.hint, kind=EXPECTED_TEXT if text else EXPECTED) from None


def _require_text(text: str) -> str:
    if not text.strip():
        raise ValueError("expected text")
    return text


def _require_one(value: Any) -> Any:
    if isinstance(value, list | tuple):
        raise invalid("expected one stream, got a list", "combine streams with union: [a, b]")
    return value


Text = Annotated[str, AfterValidator(_require_text), Expected("text")]
SqlText = Annotated[str, AfterValidator(_require_text), PlainSerializer(sql_text), Expected("Spark SQL text")]
Condition = Annotated[SqlText, Expected("a condition in Spark SQL")]
Reference = Annotated[
    str,
    BeforeValidator(_require_one),
    AfterValidator(_require_text),
    PlainSerializer(str),
    Expected("the name of a source or step, or an output such as `totals.late`"),
]
SqlExpression = Annotated[Expression, Written(Condition, str, sql_text, expression_of)]
"""A condition in Spark SQL; in Python also a pyspark Column."""
OtherInput = Annotated[Ref, Written(Reference, Ref, str), Field(alias="with")]
"""The second input of a step."""
Flag = Annotated[StrictBool, Expected("true or false")]
Rows = Annotated[int, Ge(1), Expected("a whole number of rows, 1 or more")]


def _write(length: int, info: SerializationInfo) -> str | int:
    return length if info.context == MICROSECONDS else duration_text(length)


class Length(int):
    """A duration in microseconds. It is validated from text or a `timedelta`, and written as text.

    A plain number is not a duration, because it has no unit.
    """

    @classmethod
    def parse(cls, value: Any) -> Length:
        """Return the duration that a user has written.

        Raises:
            PydanticCustomError: the value is not a duration.
        """
        if isinstance(value, Length):
            return value
        if not isinstance(value, timedelta) and not (isinstance(value, str) and value.strip()):
            raise invalid("a duration", kind=EXPECTED_TEXT)
        return cls(collect_errors(microseconds, value))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(_write, info_arg=True)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: Any) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": r"[0-9]\s*[a-zA-Z]+|\$\{",
            "examples": ["30 seconds", "1 hour"],
        }


def _require_positive(length: Length) -> Length:
    if length == 0:
        raise expect("a duration above zero")
    return length


PositiveLength = Annotated[Length, AfterValidator(_require_positive)]


def _as_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


Names = Annotated[
    tuple[Text, ...],
    BeforeValidator(_as_list),
    MinLen(1),
    PlainSerializer(lambda names: names[0] if len(names) == 1 else list(names)),
    WithJsonSchema({"anyOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA, "minItems": 1}]}),
    Expected("columns"),
]
"""A column or a list of columns."""
NamedExpressions = Annotated[
    Named, Written(Annotated[dict[str, SqlText], MinLen(1)], lambda named: tuple(named.items()), sql_texts)
]
"""Names and expressions; every use states their meaning with `Expected`."""


def _column(value: Any) -> Any:
    return value if isinstance(value, Mapping) else {"": value}


def _pairs(items: tuple[dict[str, str], ...]) -> Named:
    return tuple(pair for item in items for pair in item.items())


def _key_pairs(items: tuple[dict[str, str], ...]) -> Named:
    return tuple((name or text, text) for item in items for name, text in item.items())


def _plain_columns(columns: Named) -> Any:
    names = [name for name, _ in columns]
    if all(names) and len(set(names)) == len(names):
        return sql_texts(columns)
    return [{name: sql_text(item)} if name else sql_text(item) for name, item in columns]


def _plain_keys(columns: Named) -> Any:
    plain = _plain_columns(tuple(("" if name == item else name, item) for name, item in columns))
    return plain[0] if isinstance(plain, list) and len(plain) == 1 else plain


_COLUMN: dict[str, Any] = {"anyOf": [TEXT_SCHEMA, NAMED_SCHEMA]}
_Columns = Annotated[
    tuple[Annotated[dict[str, SqlText], BeforeValidator(_column), MinLen(1)], ...],
    MinLen(1),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [*_COLUMN["anyOf"], {"type": "array", "items": _COLUMN, "minItems": 1}]}),
]
"""Text, names with expressions, or a list of both."""
SelectColumns = Annotated[
    Named,
    Written(_Columns, _pairs, _plain_columns),
    Expected("columns", "such as [card, amount * 2 as double] or {double: amount * 2}"),
]
"""The columns of `select`; the name of an unnamed one is empty."""
KeyColumns = Annotated[
    Named,
    Written(_Columns, _key_pairs, _plain_keys),
    Expected("columns", "such as card, [card, country] or {day: to_date(ts)}"),
    Field(description="Groups by columns or expressions"),
]
"""The columns of `key_by`; an unnamed one is named by its expression."""
Aggregates = Annotated[
    NamedExpressions,
    Expected("names and aggregates", "such as {n: count(*)}"),
    Field(description="Names and aggregates in Spark SQL"),
]
