"""State signatures of planned queries, compared with those in the checkpoint directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.checkpoints.layout import checkpoint_of
from headrace.checkpoints.signatures import Signature, read_signature, signature_of, signature_problem
from headrace.errors import PlanError
from headrace.steps.stateful.aggregate import Aggregate

if TYPE_CHECKING:
    from headrace.lowering.lowering import Lowering
    from headrace.plan.graph import Graph
    from headrace.runtime.queries.planner import PlannedQuery
    from headrace.steps.base import Node


def sign_state(graph: Graph, step: Node, lowering: Lowering) -> Signature:
    """Return the state signature of the step of a query."""
    inputs = [lowering.frame(ref).schema for ref in step.inputs] if step.stateful else []
    types = {
        f"{side}{column.name}": column.dataType.simpleString()
        for side, schema in zip(step.sides or [""] * len(inputs), inputs, strict=True)
        for column in schema
    }
    by_clock = any(graph.facts(ref).by_clock for ref in step.inputs)
    changes = isinstance(step, Aggregate) and not step.emits_all(graph)
    return signature_of(step, types, by_clock=by_clock, changes=changes)


def check_signatures(graph: Graph, planned: Iterable[PlannedQuery], directory: Path) -> None:
    """Compare every stateful step with the state signature in the checkpoint directory.

    Raises:
        PlanError: with each step that differs.
    """
    problems = [
        signature_problem(
            graph.where(graph[each.query.output.step]),
            read_signature(checkpoint_of(directory, each.query)),
            each.signature,
        )
        for each in planned
    ]
    if differing := [problem for problem in problems if problem is not None]:
        raise PlanError(differing)
