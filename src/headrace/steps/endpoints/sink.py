"""A sink: a stream that is written to a connector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.connectors.base import Connector, WriteMode
from headrace.steps.base import Node, Ref


@dataclass(frozen=True)
class Sink(Node):
    """Writes a stream to a connector. `mode` is None where the user did not say."""

    input: Ref
    connector: Connector
    mode: WriteMode | None = None
    verb: ClassVar[str] = "write"

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()
