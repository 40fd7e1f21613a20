"""The formats by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import OptionError, did_you_mean
from headrace.formats.avro import Avro
from headrace.formats.base import Format
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.parquet import Parquet
from headrace.formats.protobuf import Protobuf
from headrace.formats.text import Raw, Text

_KINDS: dict[str, type[Format]] = {
    kind.name: kind for kind in (Avro, Csv, Json, Parquet, Protobuf, Raw, Text)
}


def names() -> tuple[str, ...]:
    """Return the names of all formats, sorted."""
    return tuple(sorted(_KINDS))


def get(name: str, *, where: str = "") -> type[Format]:
    """Return the option model of a format.

    >>> get("json").__name__
    'Json'

    Raises:
        OptionError: there is no such format; the hint has near names.
    """
    if name not in _KINDS:
        raise OptionError(f"unknown format `{name}`", where=where, hint=did_you_mean(name, _KINDS))
    return _KINDS[name]


def of(description: str | Format | Mapping[str, Any], *, where: str = "") -> Format:
    """Return the format of a description: a name, a name with options, or a format.

    >>> of({"csv": {"delimiter": ";"}}).delimiter
    ';'
    """
    if isinstance(description, Format):
        return description
    if isinstance(description, str):
        return get(description, where=where)()
    if isinstance(description, Mapping) and len(description) == 1:
        [(name, options)] = description.items()
        if isinstance(options, Mapping | None):
            return get(name, where=where)(**(options or {}))
    hint = 'write format="json" or {"csv": {"delimiter": ";"}}'
    raise OptionError(f"expected a format, got {description!r}", where=where, hint=hint)
