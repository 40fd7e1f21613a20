"""Avro: a record is one value in Avro's binary encoding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, PrivateAttr, WithJsonSchema, model_validator

from headrace.errors import SchemaError
from headrace.formats.avro_schemas.columns import check_columns, columns_of, schema_of
from headrace.formats.avro_schemas.types import AvroType, parse_schema
from headrace.formats.option_types import PathOption
from headrace.formats.schema_registry import RegistryFormat
from headrace.schemas.datatypes import DataType, Map, Scalar
from headrace.schemas.fields import Schema


def _parse_inline(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Mapping | list):
        raise ValueError("expected an Avro schema, as a mapping or JSON text")  # noqa: TRY004
    return json.dumps(value)


InlineSchema = Annotated[
    str | Mapping[str, Any] | list[Any] | None,
    PlainValidator(_parse_inline),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}, {"type": "null"}]}),
]
"""Validated as JSON text."""


class Avro(RegistryFormat):
    """A record is one Avro value: a record with fields, in Avro's binary encoding without a file header.

    With a `registry`, a record starts with a zero byte and the id of its schema, in four bytes (Confluent's
    wire format); the schema is requested once and cached. Without one, all records have the Avro schema that
    is set here.

    The columns of a source are its `schema`: a field belongs to the column of exactly its name, and a missing
    field is null. Without `schema`, they are those of the Avro schema that is set here, which is then the
    reader schema: Avro's schema resolution applies, with defaults, aliases and promotions. A sink writes the
    Avro schema that is set here, or one that is derived from the columns, in which every field may be null.

    >>> Avro(schema='{"type": "record", "name": "P", "fields": [{"name": "n", "type": "long"}]}').columns.ddl
    'n bigint NOT NULL'
    """

    name: ClassVar[str] = "avro"
    is_binary: ClassVar[bool] = True
    registry_kind: ClassVar[str] = "AVRO"

    avro_schema: InlineSchema = Field(
        default=None, alias="schema", description="The Avro schema, as a mapping or JSON text"
    )
    schema_file: PathOption | None = Field(
        default=None, description="A file with the Avro schema (`.avsc`), instead of `schema`"
    )
    _text: str | None = PrivateAttr(default=None)
    _type: AvroType | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _read_schema(self) -> Self:
        if self.avro_schema is not None and self.schema_file is not None:
            raise ValueError("expected `schema` or `schema_file`, got both")
        text = self.avro_schema
        if self.schema_file is not None:
            text = _read_file(str(self.schema_file))
        if text is not None:
            self._text = str(text)
            self._type = _parse(str(text), str(self.schema_file or "schema"))
        return self

    @property
    def columns(self) -> Schema | None:
        """The columns of the Avro schema; None if it is not set."""
        return None if self._type is None else columns_of(self._type)

    @property
    def default_schema(self) -> Schema | None:
        return self.columns

    def source_problem(self) -> tuple[str, str] | None:
        if self.registry is None and self._text is None:
            return "avro needs the schema of the records", "set `registry`, `schema_file` or `schema`"
        return None

    def kernel_options(self) -> str:
        return json.dumps(json.loads(super().kernel_options()) | {"schema": self._text, "schema_file": None})

    def unsupported(self, kind: DataType) -> str:
        if isinstance(kind, Map) and kind.key != Scalar("string"):
            return f"the keys of an Avro map are text: write map<string,{kind.value}>"
        if isinstance(kind, Scalar) and (kind.name == "variant" or kind.name.startswith("interval")):
            return "Avro has no such type"
        return ""

    def writer_schema(self, columns: Mapping[str, DataType]) -> str:
        if self._text is None or self._type is None:
            return schema_of(columns)
        check_columns(self._type, columns)
        return self._text

    @property
    def has_writer_schema(self) -> bool:
        return self._text is not None

    def check_writer_schema(self, text: str, columns: Mapping[str, DataType]) -> None:
        check_columns(parse_schema(text), columns)


def _read_file(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ValueError(f"the Avro schema cannot be read from {file}: {reason}") from None


def _parse(text: str, where: str) -> AvroType:
    try:
        return parse_schema(text, where=where)
    except SchemaError as error:
        raise ValueError(f"{error.where}: {error.what} ({error.hint})") from None
