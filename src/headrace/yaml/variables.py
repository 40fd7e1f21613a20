"""Expand `${VAR}` and `${VAR:-default}` in the texts of a document.

The environment may name a file for a variable: `VAR_FILE`, as Docker and Kubernetes mount secrets. A document
names variables, never files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from headrace.access import check_variable
from headrace.errors import OptionError, did_you_mean

_VARIABLE = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}]*)(?P<end>\}?)")
_INSIDE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Replace the variables of a text; `$${` stands for a literal `${`.

    As in a shell, the default also applies if the variable is set but empty. A variable that is not set is
    read from the file that `NAME_FILE` names, if that is set.

    >>> expand("${HOST:-localhost}:${PORT} costs $${5}", {"PORT": "9092"})
    'localhost:9092 costs ${5}'

    Raises:
        OptionError: a variable is not set and has no default, its file cannot be read, or `${` is not
            followed by a name and `}`.
    """
    return _VARIABLE.sub(lambda match: _value_of(match, environment), text)


def read_variable(name: str, environment: Mapping[str, str]) -> str | None:
    """Return a variable, or the content of the file that `NAME_FILE` names, without its last line break.

    >>> read_variable("TOKEN", {"TOKEN": "hush", "TOKEN_FILE": "/run/secrets/token"})
    'hush'

    Raises:
        OptionError: the file cannot be read, or is no UTF-8 text.
    """
    file = environment.get(f"{name}_FILE")
    if name in environment or not file:
        return environment.get(name)
    try:
        return re.sub(r"\r?\n\Z", "", Path(file).read_bytes().decode())
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    what = f"the variable `{name}` cannot be read from {file}: {reason}"
    raise OptionError(what, hint=f"`{name}_FILE` names this file; set `{name}`, or mount the file")


def escape(text: str) -> str:
    """Escape a text so that `expand` returns it unchanged.

    >>> escape("costs ${5}")
    'costs $${5}'
    """
    return text.replace("${", "$${")


def _value_of(match: re.Match[str], environment: Mapping[str, str]) -> str:
    if match.group() == "$${":
        return "${"
    inside = _INSIDE.fullmatch(match["inside"])
    if not match["end"] or inside is None:
        raise OptionError(
            f"expected a variable such as ${{NAME}} or ${{NAME:-default}}, got `{match.group()}`",
            hint="write `$${` for a literal `${`",
        )
    name, default = inside["name"], inside["default"]
    value = read_variable(name, environment)
    if value or (value is not None and default is None):
        return value
    if default is None:
        check_variable(name)
        raise OptionError(f"the environment variable `{name}` is not set", hint=_hint_for(name, environment))
    return default[2:]


def _hint_for(name: str, environment: Mapping[str, str]) -> str:
    near = did_you_mean(name, environment).partition("? Known")
    question = f"{near[0]}? " if near[1] else ""
    return f"{question}set it, or write ${{{name}:-a default}}"
