"""Hints for common mistakes in Python files."""

from __future__ import annotations

import builtins
import difflib
from types import ModuleType

from headrace.errors import did_you_mean
from headrace.streams.keyed import KeyedStream
from headrace.streams.rows import Rows

_ORDER = {
    "emit": "emit(...) comes after window(...)",
    "aggregate": "aggregate(...) comes after key_by(...) or window(...)",
}


def advice(error: Exception) -> str:
    """Return a hint, or an empty text."""
    if isinstance(error, AttributeError):
        return _attribute(error)
    if isinstance(error, ModuleNotFoundError):
        top = (error.name or "").split(".")[0]
        return (
            f"install it, or is it in another directory? pip install {top}"
            if top not in ("", "headrace")
            else ""
        )
    if isinstance(error, NameError) and error.name:
        return _near(error.name, _names_at(error))
    return ""


def _attribute(error: AttributeError) -> str:
    name, owner = error.name or "", error.obj
    if isinstance(owner, Rows | KeyedStream) and name in _ORDER:
        return _ORDER[name]
    known = [word for word in dir(owner) if not word.startswith("_")]
    if isinstance(owner, ModuleType):
        return did_you_mean(name, getattr(owner, "__all__", known))
    return _near(name, known)


def _names_at(error: NameError) -> list[str]:
    """Return the names that were available where the error arose."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame if trace is not None else None
    return [*dir(builtins), *(frame.f_globals if frame else ()), *(frame.f_locals if frame else ())]


def _near(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""
