"""A lookup in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from headrace.connectors.base import Connector, Role
from headrace.connectors.roles import check_role
from headrace.errors import OptionError
from headrace.formats import Format
from headrace.schemas.fields import Schema
from headrace.steps.base import Node, Plan, Ref
from headrace.steps.endpoints.describe import describe_connector
from headrace.steps.endpoints.source import decoding_of
from headrace.steps.expressions import Opaque
from headrace.steps.facts import Facts
from headrace.steps.grammar.options import ConnectorModel, FormatValue, SchemaValue
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Names
from headrace.steps.traits import Finding, Tier, unknown_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LookupHow = Literal["inner", "left"]

_KEYS = ("on", "lookup")


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
    duplicate_hint: ClassVar[str] = (
        "rename the column before the lookup: the stream and the table both have it"
    )

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        columns = inputs[0].columns
        if columns is None or self.schema is None:
            return replace(inputs[0], columns=None)
        added = (name for name in self.schema.names if name not in self.on)
        return replace(inputs[0], columns=(*columns, *added))

    def check(self, plan: Plan) -> Iterator[Finding]:
        if isinstance(self.table, Connector) and "table" not in self.table.roles:
            what = f"{self.table.kind} can't be looked up in"
            yield Finding(what, "use files, sqlite or a DataFrame", _KEYS)
        yield from unknown_columns(self.on, plan.facts(self.input).columns, "lookup", _KEYS)
        if self.schema is not None:
            yield from unknown_columns(self.on, self.schema.names, "table", _KEYS)

    def tier(self, plan: Plan) -> Tier:
        table = self.table.kind if isinstance(self.table, Connector) else "the DataFrame"
        return Tier("native", f"a broadcast join; {table} is read when the run starts")

    def description(self) -> list[str]:
        table = describe_connector(self.table) if isinstance(self.table, Connector) else "a DataFrame"
        unmatched = "nulls where nothing matches" if self.how == "left" else "drops rows that match nothing"
        return [f"in {table}", f"on {', '.join(self.on)}", unmatched]


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
    """Return a lookup; format and schema default to those of the table."""
    keys = (on,) if isinstance(on, str) else tuple(on)
    if not isinstance(table, Connector):
        columns = Schema.of(schema) if schema is not None else None
        return Lookup(name, ref, keys, Opaque(table), None, columns, how)
    check_role(table, "table", f"`{name}`")
    chosen, columns = decoding_of(table, format, schema, where=f"`{name}`")
    return Lookup(name, ref, keys, table.with_format(chosen), chosen, columns, how)


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
