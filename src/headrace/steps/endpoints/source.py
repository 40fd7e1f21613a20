"""Sources: a connector whose records are decoded, or a DataFrame from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from headrace.connectors.base import Connector
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.steps.base import MAIN, Node

OnError = Literal["fail", "skip", "divert"]


@dataclass(frozen=True)
class Source(Node):
    """Reads a connector and decodes its records."""

    connector: Connector
    format: Format | None = None
    schema: Schema | None = None
    on_error: OnError = "divert"
    verb: ClassVar[str] = "read"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, "rejects") if self.connector.carries == "bytes" else (MAIN,)


@dataclass(frozen=True, eq=False)
class FrameSource(Node):
    """A DataFrame that came from outside."""

    frame: Any
    verb: ClassVar[str] = "from_dataframe"
