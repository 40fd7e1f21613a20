"""`${VAR}` and `${VAR:-default}` in the texts of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.errors import OptionError, did_you_mean

_VARIABLE = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}]*)(?P<end>\}?)")
_INSIDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with its variables replaced; `$${` stands for a literal `${`.

    As in a shell, the default also serves where the variable is set but empty.

    >>> expanded("${HOST:-localhost}:${PORT} costs $${5}", {"PORT": "9092"})
    'localhost:9092 costs ${5}'

    Raises:
        OptionError: a variable is not set and has no default, or `${` isn't followed by a name and `}`.
    """
    return _VARIABLE.sub(lambda found: _replaced(found, environment), text)


def escaped(text: str) -> str:
    """The text so written that `expanded` gives it back.

    >>> escaped("costs ${5}")
    'costs $${5}'
    """
    return text.replace("${", "$${")


def _replaced(found: re.Match[str], environment: Mapping[str, str]) -> str:
    if found.group() == "$${":
        return "${"
    inside = _INSIDE.fullmatch(found["inside"])
    if not found["end"] or inside is None:
        raise OptionError(
            f"expected a variable such as ${{NAME}} or ${{NAME:-default}}, got `{found.group()}`",
            hint="write `$${` for a literal `${`",
        )
    name, default = inside["name"], inside["default"]
    value = environment.get(name, "")
    if value or (name in environment and default is None):
        return value
    if default is None:
        raise OptionError(f"the environment variable `{name}` is not set", hint=_unset(name, environment))
    return default[2:]


def _unset(name: str, environment: Mapping[str, str]) -> str:
    near = did_you_mean(name, environment).partition("? Known")
    asked = f"{near[0]}? " if near[1] else ""
    return f"{asked}set it, or write ${{{name}:-a default}}"
