"""Side outputs without a sink, and the notes on real-time mode that stateful steps share."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.steps.base import DEAD_LETTERS, Node, Plan, Ref
from headrace.steps.traits import Blocks, Differs, RealTimeNote

_ROWS = {"late": "late rows", "timeouts": "timeouts", "dead_letters": "dead letters"}


def list_unrouted(plan: Plan, node: Node) -> list[str]:
    """Return the side outputs of a step that no step reads; dead letters only if they are diverted."""
    diverts = getattr(node, "on_error", "divert") == "divert"
    stored = (output for output in node.stored_outputs if diverts or output != DEAD_LETTERS)
    return [output for output in stored if not plan.consumers[Ref(node.name, output)]]


def describe_unrouted(output: str) -> str:
    """Describe the rows of an unrouted side output.

    >>> describe_unrouted("late")
    'unrouted late rows are counted and stored in files'
    """
    return f"unrouted {_rows_of(output)} are counted and stored in files"


def note_unrouted(plan: Plan, node: Node) -> Iterator[RealTimeNote]:
    """Yield a note for each side output without a sink, which real-time mode cannot store."""
    for output in list_unrouted(plan, node):
        yield Blocks(
            f"{_rows_of(output)} without a sink are stored in files; write .{output} to a Kafka topic"
        )


def _rows_of(output: str) -> str:
    return _ROWS.get(output, f"rows of `{output}`")


def note_stateful(plan: Plan, node: Node) -> Iterator[RealTimeNote]:
    """Yield the notes of stateful steps whose results depend on the order of arrival."""
    yield from note_unrouted(plan, node)
    yield from note_arrival_order()


def note_arrival_order() -> Iterator[RealTimeNote]:
    """Yield the note of steps whose results depend on the order of arrival."""
    yield Differs("a replay after a failure may deliver rows in another order of arrival")
