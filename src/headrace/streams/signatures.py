"""`verb`: a method of the public API, whose errors have a hint and no internal frames."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from headrace.errors import HeadraceError, OptionError, clean_traceback, did_you_mean

F = TypeVar("F", bound=Callable[..., Any])

MIGRATE = "`headrace migrate FILE` rewrites programs of 0.2"


def verb(**renamed: str) -> Callable[[F], F]:
    """Return a decorator for a method of the public API.

    A keyword that the method does not have raises `OptionError`, and errors have no internal frames.

    Args:
        renamed: the keywords of 0.2, each with its new spelling.
    """

    def decorate(function: F) -> F:
        parameters = inspect.signature(function).parameters
        options = [name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY]
        has_name = list(parameters)[1:2] == ["name"]

        @wraps(function)
        def call(self: object, *values: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name not in options:
                    where = f"`{values[0]}`" if has_name and values else function.__name__
                    raise unknown_option(name, options, where, renamed)
            try:
                return function(self, *values, **keywords)
            except (HeadraceError, KeyboardInterrupt) as error:
                raise clean_traceback(error) from None

        return cast("F", call)

    return decorate


def unknown_option(
    name: str, options: list[str], where: str, renamed: Mapping[str, str] | None = None
) -> OptionError:
    """Return the error for an unknown keyword; the hint has its new spelling, or the nearest option."""
    if renamed and name in renamed:
        return OptionError(f"unknown option `{name}`", where=where, hint=f"write {renamed[name]}; {MIGRATE}")
    return OptionError(f"unknown option `{name}`", where=where, hint=did_you_mean(name, options))
