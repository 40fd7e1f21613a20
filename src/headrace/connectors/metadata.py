"""The option `metadata`: the fields of a message that become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from headrace.errors import did_you_mean


def _parse_metadata(value: Any) -> dict[str, str]:
    if isinstance(value, Mapping):
        names = dict(value)
    else:
        fields = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
        names = dict.fromkeys(fields)
    columns = {str(field): str(name or field) for field, name in names.items()}
    if not all(isinstance(field, str) for field in names) or len(set(columns.values())) < len(columns):
        raise ValueError("expected a list of fields, or a mapping from fields to different column names")
    return columns


def check_metadata(fields: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Check that a connector has the fields; for validators of options.

    Raises:
        ValueError: it has no such field.
    """
    for field in fields:
        if field not in known:
            raise ValueError(f"unknown metadata `{field}`: {did_you_mean(field, known)}")


_WORD = {"type": "string"}
MetadataOption = Annotated[
    str | Sequence[str] | Mapping[str, str],
    PlainValidator(_parse_metadata),
    WithJsonSchema({"anyOf": [_WORD, {"type": "array", "items": _WORD}, {"type": "object"}]}),
]
"""Validated as a mapping from fields to column names."""
