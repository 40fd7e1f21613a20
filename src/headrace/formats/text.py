"""Text and raw bytes: a record is one value."""

from __future__ import annotations

from typing import ClassVar

from headrace.errors import SchemaError
from headrace.formats.base import Format
from headrace.schemas.fields import Schema


class _OneColumn(Format):
    """A format whose record is one value; a schema may name the column, but not change its type."""

    def check_schema(self, schema: Schema | None, *, where: str = "") -> Schema:
        default = self.default_schema
        columns = super().check_schema(schema, where=where)
        if default is None or [field.type for field in columns.fields] == [default.fields[0].type]:
            return columns
        kind = default.fields[0].type
        what = f"the format `{self.name}` has one column of type {kind}, got `{columns.ddl}`"
        raise SchemaError(what, where=where, hint=f'remove the schema, or set schema="{default.ddl}"')


class Text(_OneColumn):
    """A record is text, in the column `value`; bytes that are not UTF-8 are a dead letter.

    >>> Text.default_schema.ddl
    'value string'
    """

    name: ClassVar[str] = "text"
    default_schema: ClassVar[Schema | None] = Schema.of("value string")


class Raw(_OneColumn):
    """A record is its bytes, in the column `value`; no record is a dead letter.

    >>> Raw.default_schema.ddl
    'value binary'
    """

    name: ClassVar[str] = "raw"
    is_binary: ClassVar[bool] = True
    default_schema: ClassVar[Schema | None] = Schema.of("value binary")
