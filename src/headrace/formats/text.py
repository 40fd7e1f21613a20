"""Formats without structure of their own: text and raw bytes; and Parquet, whose rows need no decoding."""

from __future__ import annotations

from typing import ClassVar

from headrace.errors import SchemaError
from headrace.formats.base import Format
from headrace.schemas.fields import Schema


class _OneColumn(Format):
    """A format whose record is one value; the user may name the column, not change its type."""

    def checked(self, schema: Schema | None, *, where: str = "") -> Schema:
        own = self.default_schema
        checked = super().checked(schema, where=where)
        if own is None or [field.type for field in checked.fields] == [field.type for field in own.fields]:
            return checked
        what = f"the format `{self.name}` gives one column of type {own.fields[0].type}, got `{checked.ddl}`"
        raise SchemaError(what, where=where, hint=f'leave the schema out, or write schema="{own.ddl}"')


class Text(_OneColumn):
    """Each record is one text, in the column `value`; bytes that aren't UTF-8 are a dead letter.

    >>> Text.default_schema.ddl
    'value string'
    """

    name: ClassVar[str] = "text"
    default_schema: ClassVar[Schema | None] = Schema.of("value string")


class Raw(_OneColumn):
    """Each record as it came, in the column `value`; no record is a dead letter.

    >>> Raw.default_schema.ddl
    'value binary'
    """

    name: ClassVar[str] = "raw"
    default_schema: ClassVar[Schema | None] = Schema.of("value binary")


class Parquet(Format):
    """Parquet files; their rows have columns and types, so the schema only says which are wanted."""

    name: ClassVar[str] = "parquet"
    of_rows: ClassVar[bool] = True
