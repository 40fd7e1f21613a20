"""The function that lowers a node; the modules beside it register one implementation per kind of node."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from headrace.steps.base import Node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.lowering import Lowering


@singledispatch
def lower(node: Node, lowering: Lowering) -> DataFrame:
    """Return the frame of a node with all its outputs."""
    raise NotImplementedError(type(node).__name__)
