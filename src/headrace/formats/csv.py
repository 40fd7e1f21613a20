"""CSV: a record is one line of separated values."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from headrace.formats.base import Format
from headrace.schemas.datatypes import Array, DataType, Map, Scalar, Struct


class Csv(Format):
    """A record is one line of separated values (RFC 4180).

    Values belong to columns in the order of the schema; with `header=True`, which only files support, by the
    names in the first line of each file. A quoted value may contain the delimiter, but no line break.

    >>> Csv(delimiter=";").delimiter
    ';'
    """

    name: ClassVar[str] = "csv"

    delimiter: str = Field(
        default=",", min_length=1, max_length=1, description="The character between values"
    )
    quote: str = Field(
        default='"', min_length=1, max_length=1, description="The character around values with delimiters"
    )
    escape: str = Field(
        default='"',
        min_length=1,
        max_length=1,
        description="The character before a quote inside a quoted value",
    )
    header: bool = Field(default=False, description="Whether the first line of each file names the columns")
    null_text: str = Field(default="", description="The text of null, without quotes")
    timestamp_format: str | None = Field(
        default=None,
        description="A Java date-time pattern for timestamps; default: ISO forms",
    )
    date_format: str | None = Field(
        default=None, description="A Java date pattern for dates; default: ISO forms"
    )

    @model_validator(mode="after")
    def _check_delimiter(self) -> Csv:
        if self.delimiter in (self.quote, self.escape):
            raise ValueError("the delimiter must differ from quote and escape")
        return self

    def unsupported(self, kind: DataType) -> str:
        if isinstance(kind, Array | Map | Struct) or kind == Scalar("variant"):
            return "read it as string, and parse it with from_json(...) in a select"
        return ""
