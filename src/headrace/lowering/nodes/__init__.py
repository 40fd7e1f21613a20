"""Lower the kinds of nodes that are not features: one function from the frames of its inputs to its own."""

from headrace.lowering.nodes import rows, stateful

__all__ = ["rows", "stateful"]
