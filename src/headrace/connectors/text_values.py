"""Values of JSON objects as text, and the SQL expressions that cast the text to the types of a schema."""

from __future__ import annotations

import json
from typing import Any

from headrace.connectors.base import LookupContext
from headrace.connectors.flatten import literal


def text_of(value: Any) -> str | None:
    """Return a JSON value as text that Spark casts; lists and objects as JSON.

    >>> text_of(True), text_of(1.5), text_of([1]), text_of("a"), text_of(None)
    ('true', '1.5', '[1]', 'a', None)
    """
    if value is None or isinstance(value, str):
        return value
    return str(value) if type(value) is int else json.dumps(value)


def cast_expressions(context: LookupContext) -> dict[str, str]:
    """Return the columns of a lookup's schema without the key, with the expressions that cast their text."""
    fields = context.schema.fields if context.schema is not None else ()
    return {field.name: _cast(str(field.type)) for field in fields if field.name not in context.on}


def _cast(kind: str) -> str:
    if kind.lower().startswith(("array", "map", "struct")):
        return f"from_json({{}}, {literal(kind)})"
    return f"cast({{}} as {kind})"
