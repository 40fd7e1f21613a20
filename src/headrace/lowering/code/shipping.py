"""Send user code to Python workers: pickled by value, with the modules that workers cannot import."""

from __future__ import annotations

import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle

from headrace import durations, errors, functions, learning, models, processors, sealed_files
from headrace.errors import PlanError, Problem


def ship(function: Callable[..., Any], target: Any, where: str) -> Callable[..., Any]:
    """Prepare a function that contains user code for pickling by Spark.

    Raises:
        PlanError: the function cannot be pickled.
    """
    for module in (durations, errors, functions, learning, models, processors, sealed_files, *user_modules()):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
    except Exception as error:  # pickling runs user code, which can raise anything
        name = getattr(target, "__name__", type(target).__name__)
        what = f"`{name}` cannot be sent to the workers: {type(error).__name__}: {error}"
        hint = "create what cannot be pickled, such as connections and models, in the open() of a class"
        raise PlanError([Problem(where, what, hint)]) from None
    return function


def user_modules() -> Iterator[ModuleType]:
    """Yield the loaded modules of the user: neither installed nor part of Headrace."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        excluded = name.partition(".")[0] in ("headrace", "__main__", "__mp_main__")
        if file and not excluded and isinstance(module, ModuleType) and not is_installed(file):
            yield module


def user_paths(target: Any) -> tuple[str, ...]:
    """Return the directory from which the module of user code was imported."""
    code = target if inspect.isroutine(target) or isinstance(target, type) else type(target)
    module = sys.modules.get(getattr(code, "__module__", "") or "")
    file = getattr(module, "__file__", None)
    if module is None or file is None or is_installed(file):
        return ()
    return (str(Path(file).resolve().parents[module.__name__.count(".")]),)


@cache
def is_installed(file: str) -> bool:
    """True if a file belongs to Python or to an installed package."""
    paths = sysconfig.get_paths()
    installed = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    files = (file, str(Path(file).resolve()))
    return any(path.startswith(tuple(installed)) for path in files) or "site-packages" in file
