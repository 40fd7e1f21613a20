"""A lookup in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from headrace.connectors.base import Connector, Role
from headrace.connectors.roles import check_role
from headrace.errors import OptionError
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.steps.base import Node, Ref
from headrace.steps.endpoints.source import decoding_of
from headrace.steps.expressions import Opaque
from headrace.steps.grammar.options import ConnectorModel, FormatValue, SchemaValue
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


class LookupOptions(ConnectorModel):
    """The value of `lookup` in a document."""

    label = "lookup"
    example = "such as {files: {path: homes.csv, format: csv}, on: card}"
    role: ClassVar[Role] = "table"
    on: Names = Field(description="The columns that both sides have")
    format: FormatValue | None = Field(default=None, description="The format of the table's records")
    schema_: SchemaValue | None = Field(default=None, alias="schema", description="The columns of the table")
    how: LookupHow = Field(
        default="left", description="`left`: a row without a match passes; `inner`: it is dropped"
    )

    @classmethod
    def from_values(cls, source: Any) -> Self:
        """Return the model of a node; a format and schema that the table implies are omitted."""
        if isinstance(source.table, Opaque):
            raise OptionError("a DataFrame cannot be written in a document", hint="look up in a connector")
        keys: dict[str, Any] = {"connector": source.table, "on": source.on}
        implied = lookup_node(source.name, source.input, source.table, on=source.on)
        if source.format is not None and source.format != implied.format:
            keys["format"] = source.format
        if source.schema is not None and source.schema != implied.schema:
            keys["schema"] = source.schema
        if source.how != "left":
            keys["how"] = source.how
        return cls.model_validate(keys)


class LookupModel(StepModel):
    """`lookup` in a document."""

    node = Lookup
    key = "lookup"
    options: LookupOptions = Field(
        alias="lookup", description="Adds the columns of a table row with the same key"
    )

    def build(self, name: str, inputs: Inputs) -> Lookup:
        """Return the node of the step."""
        given = self.options
        return lookup_node(
            name,
            inputs.refs[0],
            given.connector,
            on=given.on,
            format=given.format,
            schema=given.schema_,
            how=given.how,
        )
