"""A lookup in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

from dataclasses import dataclass
from typing import ClassVar, Literal

from headrace.connectors.base import Connector
from headrace.formats import Format
from headrace.formats import of as format_of
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


def lookup_node(
    name: str,
    ref: Ref,
    table: Connector | DataFrame,
    *,
    on: str | list[str] | tuple[str, ...],
    format: str | Format | None = None,  # noqa: A002 - the word of the contract
    schema: str | type | Schema | None = None,
    how: LookupHow = "left",
) -> Lookup:
    """A node for a lookup; format and schema are the table's own where none are given."""
    decoded = format_of(format, where=name) if format is not None else getattr(table, "format", None)
    held = table.with_format(decoded) if isinstance(table, Connector) else Opaque(table)
    columns = Schema.of(schema) if schema is not None else getattr(table, "schema_known", None)
    keys = (on,) if isinstance(on, str) else tuple(on)
    return Lookup(name, ref, keys, held, decoded, columns, how)
