"""What pydantic says about wrong options, in our words: shared by formats, connectors and documents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from headrace.errors import Problem, did_you_mean, without_passwords


def option_problems(
    model: type[BaseModel], error: ValidationError, *, where: str
) -> list[tuple[tuple[str | int, ...], Problem]]:
    """Each fault pydantic found, as (path of the option, a problem in our words).

    Documents use the path to find line and column.
    """
    return [(fault["loc"], _problem(model, dict(fault), where)) for fault in error.errors()]


def _problem(model: type[BaseModel], fault: dict[str, Any], where: str) -> Problem:
    option = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return Problem(where, f"unknown option `{option}`", did_you_mean(option, _entries(model)))
    if fault["type"] == "missing":
        return Problem(where, f"option `{option}` is missing", _described(model, option))
    got = fault.get("input")
    message = fault["msg"].removeprefix("Value error, ")
    if not option:  # options that don't go together: to print all of them would bury it, and show passwords
        return Problem(where, _lower(message))
    return Problem(
        f"{where}: {option}",
        f"{_lower(message)}, got {without_passwords(repr(got))}",
        _described(model, option),
    )


def _described(model: type[BaseModel], option: str) -> str:
    entry = _entries(model).get(option)
    return f"`{option}` is {_lower(entry.description)}" if entry is not None and entry.description else ""


def _entries(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The options by the word the user writes, which is the alias where there is one."""
    return {entry.alias or name: entry for name, entry in model.model_fields.items()}


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
