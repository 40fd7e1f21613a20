"""The option `metadata`: the fields of a message that become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, WithJsonSchema, field_validator

from headrace.connectors.base import Connector
from headrace.connectors.flatten import quote_name
from headrace.errors import did_you_mean


def parse_metadata(value: Any) -> dict[str, str]:
    """Return a mapping from fields to column names, for a field, a list of fields or a mapping.

    Raises:
        ValueError: it is none of them, or two fields have the same column name.
    """
    fields = [value] if isinstance(value, str) or not isinstance(value, Sequence | Mapping) else list(value)
    names = value if isinstance(value, Mapping) else {}
    are_words = all(isinstance(field, str) for field in fields)  # an item of a list can be a mapping
    columns = {field: str(names.get(field) or field) for field in fields} if are_words else {}
    if not are_words or len(set(columns.values())) < len(columns):
        raise ValueError("expected a list of fields, or a mapping from fields to different column names")
    return columns


_WORD: Any = {"type": "string"}
MetadataOption = Annotated[
    str | Sequence[str] | Mapping[str, str],
    PlainValidator(parse_metadata),
    WithJsonSchema({"anyOf": [_WORD, {"type": "array", "items": _WORD}, {"type": "object"}]}),
]
"""Validated as a mapping from fields to column names."""


def metadata_field(types: Mapping[str, str], example: str) -> Any:
    """Return the field of the option `metadata` of messages with several metadata."""
    return Field(
        default={},
        description=f"Metadata that become columns, some of {', '.join(types)}; with other column names as "
        f"a mapping, such as `{example}`",
        json_schema_extra={
            "anyOf": [_WORD, {"type": "array", "items": {"enum": list(types)}}, {"type": "object"}]
        },
    )


class MetadataSource(Connector):
    """A connector whose messages have metadata. A subclass declares the option `metadata`."""

    metadata_types: ClassVar[Mapping[str, str]] = {}
    """The metadata of a message that can become columns: name to Spark type."""

    @field_validator("metadata", check_fields=False)
    @classmethod
    def _check_metadata(cls, metadata: Mapping[str, str]) -> Mapping[str, str]:
        for field in metadata:
            if field not in cls.metadata_types:
                raise ValueError(f"unknown metadata `{field}`: {did_you_mean(field, cls.metadata_types)}")
        return metadata

    @property
    def selected_metadata(self) -> Mapping[str, str]:
        """The metadata that the option `metadata` makes columns: name to column name."""
        return dict(getattr(self, "metadata", {}))

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        return tuple(self.selected_metadata.values())

    def metadata_struct(self, values: Mapping[str, str]) -> list[str]:
        """Return the SQL expression of a frame's column `__metadata`; none if no metadata become columns.

        Args:
            values: metadata to SQL expression; default: a column of the same name.
        """
        names = self.selected_metadata.items()
        fields = [f"{values.get(name, quote_name(name))} as {quote_name(column)}" for name, column in names]
        return [f"struct({', '.join(fields)}) as __metadata"] if fields else []
