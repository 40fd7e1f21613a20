"""A sink: a stream that is written to a connector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from headrace.connectors.base import Connector, Role, WriteMode
from headrace.connectors.roles import check_role
from headrace.steps.base import Node, Ref
from headrace.steps.grammar.options import ConnectorModel
from headrace.steps.grammar.values import Reference


@dataclass(frozen=True)
class Sink(Node):
    """Writes a stream to a connector. `mode` is None where the user did not say."""

    input: Ref
    connector: Connector
    mode: WriteMode | None = None
    verb: ClassVar[str] = "write"

    def __post_init__(self) -> None:
        check_role(self.connector, "sink", f"`{self.name}`")

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()


class SinkModel(ConnectorModel):
    """An entry of `sinks` in a document."""

    label = "the sink"
    example = "such as {from: totals, console: {}}"
    role: ClassVar[Role] = "sink"
    input: Reference = Field(alias="from", description="The step or output that is written")
    mode: WriteMode | None = Field(default=None, description="For running aggregates: `update` or `complete`")

    def build(self, name: str, ref: Ref) -> Sink:
        """Return the node."""
        return Sink(name, ref, self.connector, self.mode)
