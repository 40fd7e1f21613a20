"""Protobuf: a record is one message of a `.proto` file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from headrace.access.options import FilePath
from headrace.errors import Problem, SchemaError
from headrace.formats.protobuf.columns import derive_columns
from headrace.formats.protobuf.descriptors import find_message, index_of, read_source
from headrace.formats.protobuf.layout import layout_of
from headrace.formats.protobuf.matching import encodes, equals, find_mismatches, missing_fields
from headrace.formats.schema_registry import RegistryFormat
from headrace.schemas.datatypes import DataType, Struct
from headrace.schemas.datatypes import Field as Column
from headrace.schemas.fields import Schema


class Protobuf(RegistryFormat):
    """A record is one Protobuf message; a field is the column of its name.

    The columns are those of the message; a schema only selects some of them. A field without presence that is
    absent is the default of its type (0, an empty text or list), one with presence is null. `.proto` files
    need the extra `protobuf`: `pip install 'headrace[protobuf]'`.

    With a `registry`, a record starts with a zero byte, the id of its schema and the index of its message
    (Confluent's wire format). A source requires the index of the declared message and requests no schema,
    because fields are matched by number. A sink registers the text of the `.proto` file.

    >>> Protobuf(file="payment.proto", message="shop.Payment").default_schema.names    # doctest: +SKIP
    ('card', 'amount', 'at')
    """

    name: ClassVar[str] = "protobuf"
    is_binary: ClassVar[bool] = True
    derives_schema: ClassVar[bool] = True
    checks_columns: ClassVar[bool] = True
    registry_kind: ClassVar[str] = "PROTOBUF"

    file: Annotated[str, FilePath()] = Field(
        min_length=1,
        description="A `.proto` file, whose imports are searched beside it, or a descriptor set: "
        "the output of `protoc --descriptor_set_out --include_imports`",
    )
    message: str | None = Field(
        default=None,
        min_length=1,
        description="The message, with its package: `shop.Payment`; default: the only one of the file",
    )
    unknown_fields: Literal["ignore", "error"] = Field(
        default="ignore",
        description="A field that is not in the message is ignored, or makes the record a dead letter",
    )

    @model_validator(mode="after")
    def _check_message(self) -> Self:
        find_message(self.file, self.message)
        return self

    @property
    def default_schema(self) -> Schema | None:
        try:
            return self.check_schema(None)
        except SchemaError:
            return None

    def check_schema(self, schema: Schema | None, *, where: str = "") -> Schema:
        """Return the columns to decode into: all of the message, or those of the schema.

        Raises:
            SchemaError: a column is not a field of the message or has another type, or a field of the message
                has no column type (recursive messages, groups).
        """
        message = self._descriptor
        if schema is None:
            return Schema.of(Schema(derive_columns(message, where=where)), where=where)
        for mismatch in find_mismatches(message, _types(schema), equals):
            raise SchemaError(mismatch.what, where=mismatch.locate(where), hint=mismatch.hint)
        return schema

    def decoder_options(self, schema: Schema) -> str:
        layout = layout_of(self._descriptor, Struct(schema.fields))
        index = index_of(self._descriptor) if self.registry is not None else None
        return json.dumps({"unknown_fields": self.unknown_fields, "layout": layout, "index": index})

    @property
    def has_writer_schema(self) -> bool:
        return True

    def writer_schema(self, columns: Mapping[str, DataType]) -> str:
        """Return the text of the `.proto` file, which a registry stores; empty without a registry."""
        return "" if self.registry is None else read_source(self.file)

    def encoder_options(self, columns: Mapping[str, DataType], text: str, schema_id: int | None) -> str:
        fields = Struct(tuple(Column(name, kind) for name, kind in columns.items()))
        layout, index = layout_of(self._descriptor, fields), index_of(self._descriptor)
        return json.dumps({"layout": layout, "id": schema_id, "index": index})

    def encoding_problems(self, columns: Mapping[str, DataType | None]) -> Iterator[Problem]:
        for mismatch in find_mismatches(self._descriptor, columns, encodes):
            yield Problem(mismatch.locate(""), mismatch.what, mismatch.hint)
        for name in missing_fields(self._descriptor, columns):
            yield Problem(f"field `{name}`", "the field is required, but there is no such column")

    @property
    def _descriptor(self) -> Any:
        return find_message(self.file, self.message)


def _types(schema: Schema) -> dict[str, DataType | None]:
    return {field.name: field.type for field in schema.fields}
