"""JSON: one object a record."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from headrace.formats.base import Format
from headrace.schemas.datatypes import DataType, Map, Scalar


class Json(Format):
    """One JSON object a record; its fields are matched to columns by exact name.

    Good input means what Spark's `from_json` makes of it; what `from_json` would quietly turn into null (text
    where a number is due, an overflow, a cut-off record) is a dead letter. A missing field is null.

    >>> Json(unknown_fields="error").name
    'json'
    """

    name: ClassVar[str] = "json"

    timestamp_format: str | None = Field(
        default=None,
        description="A Java date-time pattern for timestamps; without one the ISO spellings are read",
    )
    date_format: str | None = Field(
        default=None, description="A Java date pattern for dates; without one the ISO spellings are read"
    )
    epoch: Literal["seconds", "milliseconds", "microseconds"] = Field(
        default="seconds", description="What a whole number in a timestamp column counts since 1970"
    )
    unknown_fields: Literal["ignore", "error"] = Field(
        default="ignore", description="What to do with a record that has a field the schema lacks"
    )

    def refusal(self, kind: DataType) -> str:
        if isinstance(kind, Map) and kind.key != Scalar("string"):
            return f"the keys of a JSON object are text: write map<string,{kind.value}>"
        return ""
