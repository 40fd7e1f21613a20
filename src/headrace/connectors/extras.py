"""Optional packages that connectors need."""

from __future__ import annotations

from importlib.util import find_spec

from headrace.errors import SetupError


def require_package(package: str, *, extra: str) -> None:
    """Check that a package of an extra is installed.

    Raises:
        SetupError: it is not; the hint has the command.
    """
    if find_spec(package) is None:
        hint = f"pip install 'headrace[{extra}]'"
        raise SetupError(f"the package `{package}` is not installed", where=extra, hint=hint)
