"""Values of lookup tables without declared types: JSON as text, and the casts to the types of the schema."""

from __future__ import annotations

import json
from typing import Any

from headrace.connectors.flatten import from_text
from headrace.connectors.lookups import LookupContext
from headrace.connectors.templates import template_columns
from headrace.errors import SourceError, did_you_mean


def json_text(value: Any) -> str | None:
    """Return a JSON value as text that Spark casts; lists and objects as JSON.

    >>> json_text(True), json_text(1.5), json_text([1]), json_text("a"), json_text(None)
    ('true', '1.5', '[1]', 'a', None)
    """
    if value is None or isinstance(value, str):
        return value
    return str(value) if type(value) is int else json.dumps(value)


def cast_expressions(context: LookupContext) -> dict[str, str]:
    """Return the columns of a lookup's schema without the key, with the expressions that cast their text."""
    fields = context.schema.fields if context.schema is not None else ()
    return {field.name: from_text(str(field.type)) for field in fields if field.name not in context.on}


def check_key_template(template: str, context: LookupContext) -> None:
    """Check that a template names only key columns.

    Raises:
        SourceError: it names another column.
    """
    for column in template_columns(template):
        if column not in context.on:
            hint = did_you_mean(column, context.on)
            raise SourceError(f"unknown key column `{column}` in `{template}`", where=context.step, hint=hint)
