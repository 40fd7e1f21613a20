"""Functions over the state and the results of a step, implemented in the module `inspect` of its feature."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from headrace.debugging.verdict_text import VerdictReport
from headrace.steps.base import Node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Describe = Callable[[bytes], str]
"""Returns stored state as JSON text; sent to workers."""


@singledispatch
def state_reader(node: Node) -> Describe | None:
    """Return the function that describes the state of a key; None for kinds whose state has no module."""
    return None


@singledispatch
def read_model(node: Node, content: bytes) -> tuple[Any, int]:
    """Return the model in the state of a key, and the number of rows that it has learned."""
    raise NotImplementedError(type(node).__name__)


@singledispatch
def explain_rows(node: Node, rows: DataFrame, watermark: str, last: int) -> VerdictReport:
    """Explain the results of the last rows of a key.

    Args:
        node: the step.
        rows: the rows of the key that the step has processed.
        watermark: the watermark of the step.
        last: the number of rows to explain.
    """
    raise NotImplementedError(type(node).__name__)


def load_inspection(node: Node) -> None:
    """Import the module `inspect` of the feature of a step that is explained."""
    if node.is_explained:
        importlib.import_module(f"{type(node).__module__.rpartition('.')[0]}.inspect")
