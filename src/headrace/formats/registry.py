"""Which formats there are, and the one a user means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import OptionError, did_you_mean
from headrace.formats.base import Format
from headrace.formats.csv import Csv
from headrace.formats.json import Json
from headrace.formats.text import Parquet, Raw, Text

_KINDS: dict[str, type[Format]] = {kind.name: kind for kind in (Csv, Json, Parquet, Raw, Text)}


def names() -> tuple[str, ...]:
    """The known formats' names, sorted."""
    return tuple(sorted(_KINDS))


def get(name: str, *, where: str = "") -> type[Format]:
    """The option model of the format with that name.

    >>> get("json").__name__
    'Json'

    Raises:
        OptionError: no format has that name; the nearest ones are listed.
    """
    if name not in _KINDS:
        raise OptionError(f"there is no format `{name}`", where=where, hint=did_you_mean(name, _KINDS))
    return _KINDS[name]


def of(given: str | Format | Mapping[str, Any], *, where: str = "") -> Format:
    """The format that `given` describes: a name, a name with options, or a format itself.

    >>> of({"csv": {"delimiter": ";"}}).delimiter
    ';'
    """
    if isinstance(given, Format):
        return given
    if isinstance(given, str):
        return get(given, where=where)()
    if isinstance(given, Mapping) and len(given) == 1:
        [(name, options)] = given.items()
        if isinstance(options, Mapping | None):
            return get(name, where=where)(**(options or {}))
    what, hint = f"expected a format, got {given!r}", 'write format="json" or {"csv": {"delimiter": ";"}}'
    raise OptionError(what, where=where, hint=hint)
