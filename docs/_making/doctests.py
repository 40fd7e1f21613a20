"""Examples in docstrings, as blocks of Python: to Markdown a line that begins with `>>>` is a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent) *\S.*)*", re.MULTILINE)
"""From the first prompt to the next empty line."""


class Doctests(griffe.Extension):
    """Puts a fence around each example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text before it is read as Markdown."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    r"""The docstring with its examples as blocks.

    >>> fenced(">>> 1 + 1\n2")
    '```pycon\n>>> 1 + 1\n2\n```'
    """
    return _EXAMPLE.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", text)
