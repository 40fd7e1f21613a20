"""Errors of validators about values that a restricted service does not accept."""

from __future__ import annotations

from pydantic_core import PydanticCustomError


def reject(what: str, hint: str) -> PydanticCustomError:
    """Build the error of a value, which pydantic collects with the path of the value."""
    return PydanticCustomError("not_accepted", "{what}", {"what": what, "hint": hint, "where": ""})
