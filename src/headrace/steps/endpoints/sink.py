"""A sink: a stream that is written to a connector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.connectors.base import Connector, WriteMode
from headrace.connectors.roles import check_role
from headrace.steps.base import Node, Ref


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
