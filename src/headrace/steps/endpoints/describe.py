"""Describe connectors, with secrets masked."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import SecretStr

from headrace.connectors.base import Connector
from headrace.errors import without_passwords
from headrace.formats import Format
from headrace.schemas.fields import Schema

_SECRET = re.compile(r"password|passwd|secret|token|credential|api_?key", re.IGNORECASE)


def describe_connector(connector: Connector) -> str:
    """Describe a connector by its kind and the options that are set; secrets are masked."""
    options = [
        (name, value)
        for name in type(connector).model_fields
        if name in connector.model_fields_set
        and (value := getattr(connector, name)) is not None
        and not isinstance(value, Format | Schema)
    ]
    return " ".join([connector.kind, *(f"{name}={_format_option(name, value)}" for name, value in options)])


def _format_option(name: str, value: object) -> str:
    """Format a value on one line: the names of a mapping, the number of rows, no secrets."""
    if isinstance(value, SecretStr) or _SECRET.search(name):
        return "***"
    if isinstance(value, Mapping):
        return f"{{{', '.join(map(str, value))}}}"
    if name == "rows" and isinstance(value, list | tuple):
        return str(len(value))
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return without_passwords(str(value))
