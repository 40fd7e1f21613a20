"""Tables that a step reads beside its stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.connectors.base import Connector
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.steps.base import Node
from headrace.steps.expressions import Opaque


class TableReader(Node):
    """A step that reads a table with the role `table`, or a DataFrame."""

    if TYPE_CHECKING:  # fields of the kinds; pydantic would place them before those of their bases
        table: Connector | Opaque
        on: tuple[str, ...]
        format: Format | None
        schema: Schema | None

    def with_rows(self, rows: Sequence[Mapping[str, Any]], schema: Schema) -> Node:
        """Return the step with a table of these rows in memory."""
        raise NotImplementedError
