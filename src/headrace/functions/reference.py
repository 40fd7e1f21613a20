"""References to user code: a function or class, and the text `module:name` by which a document names it."""

from __future__ import annotations

import importlib
import inspect
import sys
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.access import check_import, current_code
from headrace.errors import LoadError, OptionError, did_you_mean

_directory: ContextVar[Path | None] = ContextVar("directory of the document", default=None)
LOADED = "headrace_file_"
"""The prefix of the module name of a pipeline file that the command line has loaded."""


@dataclass(frozen=True)
class UserCode:
    """A function or class of the user. Two references are equal if they name the same code."""

    text: str
    """`module:name`; for code without such a name, the place where it is defined."""
    target: Any = field(default=None, compare=False, repr=False)
    """The function, class or instance; None until `load` has imported it."""
    named: bool = True
    """False if the text cannot be imported: a lambda, a local function, an instance."""

    def __str__(self) -> str:
        return self.text.rpartition(":")[2] if self.named else self.text

    def load(self) -> Any:
        """Return the function or class; import it if the reference is a text.

        Raises:
            LoadError: the module or the name does not exist, or importing the module fails.
        OptionError: a service restricts documents, and accepts no code.
        """
        if self.target is None:
            check_import(self.text)
            object.__setattr__(self, "target", _load(self.text))
        return self.target


def reference_to(target: Any, *, where: str) -> UserCode:
    """Return the reference to a function, class or instance, or to the text `module:name`.

    Raises:
        OptionError: the argument is none of these.
    """
    if isinstance(target, UserCode):
        return target
    if isinstance(target, str):
        if ":" not in target.strip(":"):
            hint = 'write "scoring:score" for the function score of scoring.py'
            raise OptionError(f"expected module:name, got {target!r}", where=where, hint=hint)
        return UserCode(target)
    if not callable(target):
        hint = "pass a function, or a class whose instances can be called"
        raise OptionError(f"expected a function, got {target!r}", where=where, hint=hint)
    return describe_code(target)


def describe_code(target: Any) -> UserCode:
    """Return the reference to a function, class or instance."""
    definition = target if inspect.isroutine(target) or isinstance(target, type) else type(target)
    module = getattr(definition, "__module__", "") or ""
    name = getattr(definition, "__qualname__", type(target).__name__)
    text = f"{module.removeprefix(LOADED)}:{name}"
    named = definition is target and "<" not in name and module != "__main__"
    return UserCode(text, target, named)


def search_directory(directory: Path) -> None:
    """Import user code from the directory of a document, before other places."""
    if not current_code():
        return
    _directory.set(directory)
    if str(directory.absolute()) not in sys.path:
        sys.path.append(str(directory.absolute()))


def _import(name: str) -> Any:
    """Import a module; one in the document's directory wins over a loaded one of that name."""
    importlib.invalidate_caches()
    directory, loaded = _directory.get(), sys.modules.get(name)
    file = None if directory is None else (directory / f"{name.replace('.', '/')}.py").absolute()
    if file is None or not file.exists() or "." in name:
        return sys.modules.get(f"{LOADED}{name}") or importlib.import_module(name)
    if loaded is None or Path(getattr(loaded, "__file__", None) or "").absolute() != file:
        sys.modules.pop(name, None)
        sys.path.insert(0, str(file.parent))
    try:
        return importlib.import_module(name)
    finally:
        if sys.path[0] == str(file.parent):
            del sys.path[0]


def _load(text: str) -> Any:
    module_name, _, path = text.partition(":")
    try:
        loaded: Any = _import(module_name)
    except Exception as error:
        hint = "put the module beside the pipeline's file, or install it"
        raise LoadError(
            f"cannot import `{module_name}`: {type(error).__name__}: {error}", hint=hint
        ) from error
    for name in path.split("."):
        if not hasattr(loaded, name):
            names = [known for known in vars(loaded) if not known.startswith("_")]
            raise LoadError(f"`{module_name}` has no `{path}`", hint=did_you_mean(name, names))
        loaded = getattr(loaded, name)
    if not callable(loaded):
        raise LoadError(f"`{text}` is {type(loaded).__name__}, expected a function or class")
    return loaded
