"""Lower each kind of node: one function from the frames of its inputs to its own.

A node with several outputs has one frame for all of them; `headrace.lowering.outputs` selects an output.
"""

from headrace.lowering.nodes import rows, stateful
from headrace.lowering.nodes.dispatch import lower

__all__ = ["lower", "rows", "stateful"]
