"""Every public name has a docstring with an example."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.support.public_names import public

import headrace
from headrace import testing

WORDS = [thing for name in headrace.__all__ if inspect.ismodule(thing := getattr(headrace, name))]


NAMES = [(module, name) for module in (headrace, testing) for name in public(module)] + [
    (module, name)
    for module in WORDS
    for name in public(module)
    if name.islower()  # classes there are what words make
]
IDS = [f"{module.__name__}.{name}" for module, name in NAMES]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=IDS)
def test_a_public_name_has_an_example(module: Any, name: str) -> None:
    thing = getattr(module, name)
    assert ">>> " in (thing.__doc__ or ""), "a docstring with an example that runs"
