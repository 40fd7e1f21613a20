"""A lookup in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

from dataclasses import dataclass
from typing import ClassVar, Literal

from headrace.connectors.base import Connector
from headrace.connectors.roles import check_role
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.source import decoding_of
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
    """Return the node of a lookup; format and schema default to the table's."""
    keys = (on,) if isinstance(on, str) else tuple(on)
    if not isinstance(table, Connector):
        columns = Schema.of(schema) if schema is not None else None
        return Lookup(name, ref, keys, Opaque(table), None, columns, how)
    check_role(table, "table", f"`{name}`")
    decoded, columns = decoding_of(table, format, schema, where=f"`{name}`")
    return Lookup(name, ref, keys, table.with_format(decoded), decoded, columns, how)
