"""Render examples in docstrings as blocks of Python.

Markdown takes a line that begins with `>>>` for a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent) *\S.*)*", re.MULTILINE)
"""From the first prompt to the next empty line."""


class Doctests(griffe.Extension):
    """A griffe extension that puts a fence around each example."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring before it is parsed as Markdown."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)


def fence_examples(text: str) -> str:
    r"""Return the docstring with its examples as fenced blocks.

    >>> fence_examples(">>> 1 + 1\n2")
    '```pycon\n>>> 1 + 1\n2\n```'
    """
    return _EXAMPLE.sub(lambda match: f"{match['indent']}```pycon\n{match[0]}\n{match['indent']}```", text)
