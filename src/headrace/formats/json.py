"""JSON: a record is one object."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace.formats.base import Format
from headrace.schemas.datatypes import DataType, Map, Scalar


class Json(Format):
    """A record is one JSON object; a field belongs to the column of exactly its name.

    Values are those of Spark's `from_json`, except that input for which `from_json` returns null (text
    instead of a number, an overflow, a truncated record) is a dead letter. A missing field is null.

    >>> Json(unknown_fields="error").name
    'json'
    """

    name: ClassVar[str] = "json"

    timestamp_format: str | None = Field(
        default=None,
        description="A Java date-time pattern for timestamps; default: ISO forms",
    )
    date_format: str | None = Field(
        default=None, description="A Java date pattern for dates; default: ISO forms"
    )
    epoch: Literal["seconds", "milliseconds", "microseconds"] = Field(
        default="seconds", description="The unit of a whole number in a timestamp column, since 1970"
    )
    unknown_fields: Literal["ignore", "error"] = Field(
        default="ignore",
        description="A field that is not in the schema is ignored, or makes the record a dead letter",
    )

    def unsupported(self, kind: DataType) -> str:
        if isinstance(kind, Map) and kind.key != Scalar("string"):
            return f"the keys of a JSON object are text: write map<string,{kind.value}>"
        return ""
