"""CSV: one line of separated values a record."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from headrace.formats.base import Format
from headrace.schemas.datatypes import Array, DataType, Map, Scalar, Struct


class Csv(Format):
    """One line of separated values a record, as RFC 4180 has it.

    Values are matched to columns in the schema's order; with `header=True` by the names in the first line of
    each file, so only for files. A value in quotes may hold the delimiter, but a record never spans lines.

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
        description="What stands before a quote that is part of a quoted value",
    )
    header: bool = Field(default=False, description="Whether the first line of each file names the columns")
    null_text: str = Field(default="", description="What stands for null when it isn't in quotes")
    timestamp_format: str | None = Field(
        default=None,
        description="A Java date-time pattern for timestamps; without one the ISO spellings are read",
    )
    date_format: str | None = Field(
        default=None, description="A Java date pattern for dates; without one the ISO spellings are read"
    )

    @model_validator(mode="after")
    def _distinct(self) -> Csv:
        if self.delimiter in (self.quote, self.escape):
            raise ValueError("the delimiter must differ from quote and escape")
        return self

    def refusal(self, kind: DataType) -> str:
        if isinstance(kind, Array | Map | Struct) or kind == Scalar("variant"):
            return "read it as string and take it apart with from_json(...) in a select"
        return ""
