"""All kinds of steps: the models that the modules of this package declare, found by importing them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache

from headrace import steps
from headrace.steps.grammar.step import StepModel


@cache
def step_models() -> tuple[type[StepModel], ...]:
    """Return the model of each kind of step, in the order in which their keys apply, then by key.

    >>> [model.key for model in step_models()][:3]
    ['union', 'where', 'with_columns']
    """
    for module in pkgutil.walk_packages(steps.__path__, f"{steps.__name__}."):
        importlib.import_module(module.name)
    return tuple(sorted(_leaves(StepModel), key=lambda model: (model.slot, model.key, model.__module__)))


def _leaves(base: type[StepModel]) -> Iterator[type[StepModel]]:
    for model in base.__subclasses__():
        if model.__subclasses__():
            yield from _leaves(model)
        else:
            yield model
