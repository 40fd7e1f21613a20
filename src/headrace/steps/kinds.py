"""All kinds of steps, found by importing the modules of this package and `declare` of each feature."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

from headrace import steps
from headrace.steps.grammar.declaration import NestedStep, StepNode, step_model
from headrace.steps.grammar.step import StepKeys, StepModel

T = TypeVar("T")


@cache
def step_models() -> tuple[type[StepKeys], ...]:
    """Return the model of each kind of step, in the order in which their keys apply, then by key.

    >>> [model.key for model in step_models()][:3]
    ['union', 'where', 'with_columns']
    """
    for module in pkgutil.walk_packages(steps.__path__, f"{steps.__name__}."):
        importlib.import_module(module.name)
    for feature in features():
        importlib.import_module(f"{feature}.declare")
    models: list[type[StepKeys]] = [
        model for model in _leaves(StepModel) if not issubclass(model, NestedStep)
    ]
    models += [step_model(node) for node in _leaves(StepNode)]
    return tuple(sorted(models, key=lambda model: (model.slot, model.key, model.__module__)))


def features() -> list[str]:
    """Return the packages that have a module `declare`.

    >>> "headrace.lookups" in features()
    True
    """
    files = Path(__file__).parents[1].glob("*/declare.py")
    return sorted(f"headrace.{file.parent.name}" for file in files)


def _leaves(base: type[T]) -> Iterator[type[T]]:
    for model in base.__subclasses__():
        if model.__subclasses__():
            yield from _leaves(model)
        else:
            yield model
