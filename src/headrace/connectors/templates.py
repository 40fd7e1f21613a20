"""Options with column values: `{column}` is replaced by the value of the row, `{{` is a literal brace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints

from headrace.connectors.flatten import literal, quote_name
from headrace.connectors.row_encoding import Field, Fields, encode_text
from headrace.errors import DeliveryError, did_you_mean

_PART = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]+)\}|(?P<stray>[{}])|(?P<text>[^{}]+)")


def template_columns(template: str) -> tuple[str, ...]:
    """Return the columns of a template.

    >>> template_columns("building/{room}/{{alarm}}")
    ('room',)

    Raises:
        ValueError: a brace is not closed.
    """
    return tuple(dict.fromkeys(name for name, _ in _parts(template) if name))


def template_format(template: str, columns: Sequence[str]) -> str:
    """Return a template as a format string for the values of these columns.

    >>> template_format("{room}/{{alarm}}", ["building", "room"]).format("A", "12")
    '12/{alarm}'
    """
    parts = ((name, text.replace("{", "{{").replace("}", "}}")) for name, text in _parts(template))
    return "".join(f"{{{columns.index(name)}}}" if name else text for name, text in parts)


def template_expression(template: str, fields: Fields, where: str) -> str:
    """Return the SQL expression of a template's text; a null value is empty text.

    `{window.start}` names a field of a struct column.

    Raises:
        DeliveryError: the template names an unknown column.
    """
    parts = [
        f"coalesce({encode_text(_field(name, fields, where))}, '')" if name else literal(text)
        for name, text in _parts(template)
    ]
    return f"concat({', '.join(parts)})" if parts else "''"


def _check_template(template: str) -> str:
    template_columns(template)
    return template


TemplateOption = Annotated[str, AfterValidator(_check_template)]
"""An option with column values; a brace that is not closed is an error."""
NameTemplateOption = Annotated[str, StringConstraints(min_length=1), AfterValidator(_check_template)]
"""The same, not empty."""


def _field(name: str, fields: Fields, where: str) -> Field:
    """Return a column, or a field of a struct column."""
    if name in fields:
        return fields[name]
    column, *path = name.split(".")
    field = fields.get(column)
    for part in path:
        field = _struct_field(field, part) if field is not None else None
    if field is None:
        raise DeliveryError(f"unknown column `{name}`", where=where, hint=did_you_mean(column, fields))
    return field


def _struct_field(field: Field, name: str) -> Field | None:
    kind: Any = field.kind
    parts = kind["fields"] if isinstance(kind, dict) and kind["type"] == "struct" else ()
    types = [part["type"] for part in parts if part["name"] == name]
    return Field(f"{field.path}.{quote_name(name)}", types[0]) if types else None


@cache
def _parts(template: str) -> Sequence[tuple[str, str]]:
    """Return column name and text of each part; one of them is empty."""
    return tuple(_iterate_parts(template))


def _iterate_parts(template: str) -> Iterator[tuple[str, str]]:
    for part in _PART.finditer(template):
        if part["stray"]:
            raise ValueError(f"expected `{{column}}`, got a single `{part['stray']}`; for a brace write two")
        if part["name"]:
            yield part["name"].strip(), ""
        else:
            yield "", part["text"] or part[0][0]
