"""The functions that lower a node and select one of its outputs, with an implementation per kind of node.

The implementations of a feature are in its module `lower`, which is imported when a node that its module
`declare` declares is lowered; those of other kinds are in `lowering.nodes`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

from headrace.steps.base import Node, Ref

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headrace.lowering.counts import Counts
    from headrace.lowering.lowering import Lowering


class EpochStep:
    """What a stateless step holds for a query and uses in every epoch."""

    counts: Counts | None = None
    """Its row counters, if it drops or diverts rows."""

    def enter(self, epoch: int) -> None:
        """Prepare an epoch, before its tasks start."""

    def sampled_rows(self) -> Mapping[str, Sequence[str]]:
        """Return sample rows as JSON, by the name of the rule that they violate."""
        return {}


@singledispatch
def lower(node: Node, lowering: Lowering) -> DataFrame:
    """Return the frame of a node with all its outputs."""
    raise NotImplementedError(type(node).__name__)


@singledispatch
def select_output(node: Node, ref: Ref, raw: DataFrame) -> DataFrame:
    """Return the rows of one output from the frame of a node."""
    raise NotImplementedError(type(node).__name__)


def load_lowering(kind: type[Node]) -> None:
    """Import the modules that lower a kind of node."""
    package, _, module = kind.__module__.rpartition(".")
    own = (f"{package}.lower",) if module == "declare" else ("headrace.lowering.nodes",)
    for name in (*own, "headrace.lowering.outputs"):
        importlib.import_module(name)
