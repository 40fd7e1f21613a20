"""A lookup in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from headrace.connectors.base import Connector
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.steps.base import Node, Ref
from headrace.steps.expressions import Opaque

LookupHow = Literal["inner", "left"]


@dataclass(frozen=True)
class Lookup(Node):
    """Adds the columns of a table row with the same key."""

    input: Ref
    on: tuple[str, ...]
    table: Connector | Opaque
    format: Format | None = None
    schema: Schema | None = None
    how: LookupHow = "left"
    verb: ClassVar[str] = "lookup"
