"""Errors of validators, which pydantic collects with the path of the value.

The reader of documents adds file, line and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from headrace.errors import HeadraceError, did_you_mean, validation_message

T = TypeVar("T")
UNKNOWN_KEY, MISSING_KEY = "unknown_key", "missing_key"
EXPECTED, EXPECTED_TEXT, INVALID = "expected", "expected_text", "invalid"
"""Types of errors. Those with `expected` are completed with the actual value: "expected a number, got
`many`".
"""

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
}


def invalid(what: str, hint: str = "", *, where: str = "", kind: str = INVALID) -> PydanticCustomError:
    """Build an error for a validator to raise.

    Args:
        what: the problem; for the `EXPECTED` kinds only the expectation, such as "a number".
        hint: how to fix it.
        where: a location inside the value, such as "schema character 4".
        kind: one of the types above.
    """
    return PydanticCustomError(kind, "{what}", {"what": what, "hint": hint, "where": where})


def expect(what: str, hint: str = "") -> PydanticCustomError:
    """Build an error with the expected value; the reader of documents adds the actual value."""
    return invalid(what, hint, kind=EXPECTED)


def translate_error(error: HeadraceError) -> PydanticCustomError:
    """Convert an error of a declaration into one that pydantic collects."""
    return invalid(error.what, error.hint, where=error.where)


def collect_errors(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, and convert its errors for pydantic.

    Raises:
        PydanticCustomError: the function raised a `HeadraceError`.
    """
    try:
        return function(*arguments)
    except HeadraceError as error:
        raise translate_error(error) from None


def problem_at(path: tuple[str | int, ...], error: PydanticCustomError) -> InitErrorDetails:
    """Return an error with its path below the value that is being validated."""
    return InitErrorDetails(type=error, loc=path, input=None)


def raise_at(path: tuple[str | int, ...], error: PydanticCustomError) -> NoReturn:
    """Raise an error at a path below the value that is being validated."""
    raise validation_error([problem_at(path, error)])


def validation_error(details: Iterable[InitErrorDetails]) -> ValidationError:
    """Build an error with several details."""
    return ValidationError.from_exception_data("document", list(details))


def details_of(error: Any) -> InitErrorDetails:
    """Convert an item of `ValidationError.errors()` so that it can be raised again."""
    context = error.get("ctx", {})
    kind: Any = error["type"]
    if "what" in context:
        kind = PydanticCustomError(kind, "{what}", context)
    return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"], ctx=context)


def describe_error(error: Any, actual: object, *, text: str = "") -> tuple[str, str]:
    """Return the problem and the hint of an item of `ValidationError.errors()`.

    Args:
        error: the item.
        actual: the value as its author wrote it, in YAML or in Python.
        text: the value, if it may be a misspelt word.
    """
    kind, context = error["type"], error.get("ctx", {})
    if "what" in context:
        expects = kind in (EXPECTED, EXPECTED_TEXT)
        return f"expected {context['what']}, got {actual}" if expects else context["what"], context["hint"]
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", context["expected"])
        return f"expected one of {', '.join(words)}, got {actual}", did_you_mean(text, words) if text else ""
    expected = _TYPES.get(kind.split("_")[0])
    message = f"expected {expected}" if expected else validation_message(error)
    return f"{message}, got {actual}", ""
