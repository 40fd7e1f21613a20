"""Public names of a namespace, found by inspection."""

from __future__ import annotations

import inspect
from typing import Any


def public(module: Any) -> list[str]:
    """Its `__all__`; without one, its functions that make a declaration: a window or a trigger."""
    if names := getattr(module, "__all__", None):
        return list(names)
    own = {
        name: each
        for name, each in vars(module).items()
        if getattr(each, "__module__", "") == module.__name__
    }
    base = {"Window", "Trigger"} & set(own)
    made = {name for name, each in own.items() if inspect.isclass(each) and issubclass(each, own[min(base)])}
    functions = {name: each for name, each in own.items() if inspect.isfunction(each) and name[0] != "_"}
    return [name for name, each in functions.items() if each.__annotations__.get("return") in made]
