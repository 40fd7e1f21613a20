"""Side outputs without a sink, and the notes on real-time mode that stateful steps share."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.steps.base import Node, Plan, Ref
from headrace.steps.traits import Blocks, Differs, RealTimeNote

_ROWS = {"late": "late rows", "timeouts": "timeouts", "dead_letters": "dead letters"}


def list_unrouted(plan: Plan, node: Node) -> list[str]:
    """Return the side outputs of a step that no step reads; dead letters only if they are diverted."""
    if getattr(node, "on_error", "divert") != "divert":
        return []
    return [out for out in node.outputs if out in _ROWS and not plan.consumers[Ref(node.name, out)]]


def describe_unrouted(output: str) -> str:
    """Describe the rows of an unrouted side output.

    >>> describe_unrouted("late")
    'unrouted late rows are counted and stored in files'
    """
    return f"unrouted {_ROWS[output]} are counted and stored in files"


def note_unrouted(plan: Plan, node: Node) -> Iterator[RealTimeNote]:
    """Yield a note for each side output without a sink, which real-time mode cannot store."""
    for output in list_unrouted(plan, node):
        yield Blocks(f"{_ROWS[output]} without a sink are stored in files; write .{output} to a Kafka topic")


def note_stateful(plan: Plan, node: Node) -> Iterator[RealTimeNote]:
    """Yield the notes of stateful steps whose results depend on the order of arrival."""
    yield from note_unrouted(plan, node)
    yield from note_arrival_order()


def note_arrival_order() -> Iterator[RealTimeNote]:
    """Yield the note of steps whose results depend on the order of arrival."""
    yield Differs("a replay after a failure may deliver rows in another order of arrival")
