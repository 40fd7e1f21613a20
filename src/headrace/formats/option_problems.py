"""Translates pydantic's errors about options of formats, connectors and documents into problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from headrace.errors import OptionError, Problem, did_you_mean, validation_message, without_passwords

_Model = TypeVar("_Model", bound=BaseModel)


def option_problems(
    model: type[BaseModel], error: ValidationError, *, where: str
) -> list[tuple[tuple[str | int, ...], Problem]]:
    """Return the path of each invalid option, by which documents find its line, and the problem."""
    return [(item["loc"], _problem(model, dict(item), where)) for item in error.errors()]


def validated(model: type[_Model], options: Mapping[str, Any], *, where: str) -> _Model:
    """Return a model of options.

    Raises:
        OptionError: an option is invalid.
    """
    try:
        return model(**options)
    except ValidationError as error:
        raise OptionError.of(first_problem(model, error, where=where)) from None


def first_problem(model: type[BaseModel], error: ValidationError, *, where: str) -> Problem:
    """Return the problem to report: an unknown option may be a misspelling of one that is missing."""
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    return _problem(model, dict(first), where)


def _problem(model: type[BaseModel], error: dict[str, Any], where: str) -> Problem:
    option = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return Problem(where, f"unknown option `{option}`", did_you_mean(option, _fields_by_name(model)))
    if error["type"] == "missing":
        return Problem(where, f"option `{option}` is missing", _describe(model, option))
    if "hint" in (context := error.get("ctx", {})):
        return Problem(f"{where}: {option}" if option else where, context["what"], context["hint"])
    value = error.get("input")
    message = validation_message(error)
    if not option:  # the problem is in several options, whose values may hold passwords
        return Problem(where, message)
    shown = "" if "password" in option else f", got {without_passwords(repr(value))}"
    return Problem(f"{where}: {option}", f"{message}{shown}", _describe(model, option))


def _describe(model: type[BaseModel], option: str) -> str:
    field = _fields_by_name(model).get(option)
    return f"`{option}` is {_lower(field.description)}" if field is not None and field.description else ""


def _fields_by_name(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields by the names that users write."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
