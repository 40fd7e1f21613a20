"""Optional packages that connectors need."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from headrace.errors import SetupError


def require_package(package: str, *, extra: str) -> None:
    """Check that a package of an extra is installed.

    Raises:
        SetupError: it is not; the hint has the command.
    """
    if find_spec(package) is None:
        raise _error(f"the package `{package}` is not installed", extra)


def import_client(package: str, *, extra: str) -> Any:
    """Import the client library of a server.

    Raises:
        SetupError: it is not installed, or lacks a library of the system.
    """
    require_package(package, extra=extra)
    try:
        return import_module(package)
    except ImportError as error:
        raise _error(f"the package `{package}` cannot be imported: {error}", extra) from error


def _error(what: str, extra: str) -> SetupError:
    return SetupError(what, where=extra, hint=f"pip install 'headrace[{extra}]'")
