"""From what a user wrote to recipes: parses them, and guesses one for a column without."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from headrace.connectors.generator.recipes import KINDS, Recipe
from headrace.errors import did_you_mean
from headrace.formats.options import option_problems
from headrace.schemas.datatypes import Decimal, Field, Scalar

_NUMERIC = ("tinyint", "smallint", "int", "bigint")
_OF_MAPPINGS = ("choice", "constant")
"""Recipes whose main option may be a mapping itself."""
_GUESSES: tuple[tuple[str, Callable[[str], bool], Any], ...] = (
    (r"uuid|guid", lambda kind: kind == "string", "uuid"),
    (r"card", lambda kind: kind == "string", "card_number"),
    (r"country|residence|nation", lambda kind: kind == "string", "country"),
    (r"city|town|place", lambda kind: kind == "string", "city"),
    (r"ip|address|host", lambda kind: kind == "string", "ip"),
    (r"id|key|number|seq|sequence", lambda kind: kind in ("string", "int", "bigint"), "sequence"),
    (
        r"amount|price|total|cost|duration|length",
        lambda kind: kind in ("double", "float", "decimal"),
        "lognormal",
    ),
    (r".*", lambda kind: kind == "boolean", "boolean"),
    (r".*", lambda kind: kind in ("timestamp", "timestamp_ntz", "date"), "timestamp"),
    (r".*", lambda kind: kind in _NUMERIC, "integer"),
    (r".*", lambda kind: kind in ("double", "float", "decimal"), {"normal": {"mean": 50, "deviation": 10}}),
    (r".*", lambda kind: kind in ("string", "binary"), {"words": 1}),
)


def recipe(given: Any) -> Recipe:
    """The recipe that `given` describes: a name, a name with options, or a recipe itself.

    Raises:
        ValueError: there is none of that name, or an option is wrong.

    >>> recipe({"choice": ["card", "cash"]}).of
    ['card', 'cash']
    >>> recipe("country").name
    'country'
    """
    if isinstance(given, Recipe):
        return given
    if isinstance(given, str):
        return _made(given, {})
    if isinstance(given, Mapping) and len(given) == 1:
        [(name, options)] = given.items()
        return _made(str(name), options)
    raise ValueError("expected a recipe such as `country`, or {choice: [a, b]}")


def guessed(field: Field) -> Recipe | None:
    """A recipe for a column by its name and type; None for arrays, maps and structs."""
    kind = "decimal" if isinstance(field.type, Decimal) else str(field.type)
    if not isinstance(field.type, Scalar | Decimal):
        return None
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", field.name).lower())
    for pattern, fits, given in _GUESSES:
        if fits(kind) and any(re.fullmatch(pattern, word) for word in words):
            return recipe(given)
    return None


def _of_options(kind: type[Recipe], options: Mapping[Any, Any]) -> bool:
    return all(name in kind.model_fields for name in options)


def _made(name: str, options: Any) -> Recipe:
    if name not in KINDS:
        raise ValueError(f"there is no recipe `{name}` ({did_you_mean(name, KINDS)})")
    kind, options = KINDS[name], {} if options is None else options
    if kind.main and (
        not isinstance(options, Mapping) or (name in _OF_MAPPINGS and not _of_options(kind, options))
    ):
        options = {kind.main: options}
    if not isinstance(options, Mapping):
        raise ValueError(f"expected the options of `{name}`, got {options!r}")  # noqa: TRY004 - for pydantic
    try:
        return kind(**options)
    except ValidationError as error:
        problem = option_problems(kind, error, where=name)[0][1]
        raise ValueError(f"{problem.where}: {problem.what}") from error
