"""Facts from the type hints of user functions: the output's columns, and the library of frames."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any

from headrace.errors import SchemaError
from headrace.functions.failures import ARROW, PANDAS, POLARS
from headrace.schemas.classes import is_record, type_of_hint
from headrace.schemas.fields import Schema

_ITERABLES = (
    list,
    tuple,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Generator,
    collections.abc.Sequence,
)


def output_of(target: Any, *, many: bool) -> Schema | None:
    """Return the columns of the dataclass or pydantic model that a function returns; None without a hint.

    Args:
        target: a function, or a class or instance whose call has the hint.
        many: True if it returns an iterable of rows.

    Raises:
        SchemaError: a field of the class has no column type.
    """
    hint = _hints(target).get("return")
    if many:
        arguments = typing.get_args(hint)
        hint = arguments[0] if typing.get_origin(hint) in _ITERABLES and arguments else None
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    candidate = kinds[0] if len(kinds) == 1 else hint
    return Schema.of(candidate) if isinstance(candidate, type) and is_record(candidate) else None


def result_type(target: Any) -> str | None:
    """Return the type of a column, as DDL, for the values that a function returns; None without a hint.

    >>> def score(amount: float) -> float | None: ...
    >>> result_type(score)
    'double'

    Raises:
        SchemaError: the hint has no column type.
    """
    hint = _hints(target).get("return")
    if hint is None or hint is type(None):
        return None
    name = getattr(target, "__name__", type(target).__name__)
    return str(type_of_hint(hint, f"the result of `{name}`"))


def float_parameters(target: Any) -> tuple[bool, ...] | None:
    """Return, for each parameter of a function, if its hint is `float`; None if it takes any number.

    >>> def score(amount: float, card: str, limit: float | None = None) -> float: ...
    >>> float_parameters(score)
    (True, False, True)
    """
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    hints = _hints(target)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(_is_float(hints.get(parameter.name)) for parameter in positional if parameter.name != "self")


def _is_float(hint: Any) -> bool:
    return hint is float or float in typing.get_args(hint)


def frame_library(target: Any) -> str:
    """Return the library of the frame that a function takes, by the hint of its first parameter, or Arrow."""
    call = _call(target)
    try:
        parameters = [name for name in inspect.signature(call).parameters if name != "self"]
    except (TypeError, ValueError):
        return ARROW
    hint = _hints(target).get(parameters[0]) if parameters else None
    module = hint if isinstance(hint, str) else getattr(hint, "__module__", "")
    library = module.partition(".")[0]
    return {"pd": PANDAS, "pandas": PANDAS, "pl": POLARS, "polars": POLARS}.get(library, ARROW)


def missing_output(name: str) -> SchemaError:
    """Return the error for a function whose output is unknown."""
    hint = 'set output="id string, score double", or let the function return a dataclass or pydantic model'
    return SchemaError("output is missing", where=f"`{name}`", hint=hint)


def _call(target: Any) -> Any:
    if inspect.isroutine(target):
        return target
    return getattr(target if isinstance(target, type) else type(target), "__call__", target)  # noqa: B004


def _hints(target: Any) -> dict[str, Any]:
    call = _call(target)
    try:
        return typing.get_type_hints(call)
    except Exception:  # a hint may name a type that only a type checker imports
        return dict(getattr(call, "__annotations__", {}))
