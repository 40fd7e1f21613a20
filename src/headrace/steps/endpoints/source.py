"""Sources: a connector whose records are decoded, or a DataFrame from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from headrace.connectors.base import Connector, Role
from headrace.connectors.roles import check_override, check_role
from headrace.errors import OptionError
from headrace.formats import Format
from headrace.formats import of as format_of
from headrace.schemas.fields import Schema
from headrace.steps.base import MAIN, Node
from headrace.steps.grammar.options import ConnectorModel, FormatValue, SchemaValue

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
        return (MAIN, "dead_letters") if self.connector.carries == "bytes" else (MAIN,)


@dataclass(frozen=True, eq=False)
class FrameSource(Node):
    """A DataFrame that came from outside."""

    frame: Any
    verb: ClassVar[str] = "from_dataframe"


def source_node(
    name: str,
    connector: Connector,
    *,
    format: str | Format | None = None,  # noqa: A002 - the word of the contract
    schema: str | type | Schema | None = None,
    on_error: OnError = "divert",
) -> Source:
    """Return the node of a source; format and schema default to the connector's, then the schema to the format's."""
    require_connector(connector, f"`{name}`", "read")
    check_role(connector, "source", f"`{name}`")
    decoded, columns = decoding_of(connector, format, schema, where=f"`{name}`")
    if columns is None and decoded is not None:
        columns = decoded.default_schema
    return Source(name, connector.with_format(decoded), decoded, columns, on_error)


def decoding_of(
    connector: Connector,
    format: str | Format | None,  # noqa: A002 - the word of the contract
    schema: str | type | Schema | None,
    *,
    where: str,
) -> tuple[Format | None, Schema | None]:
    """Return the format and schema of a step; each defaults to that of the connector.

    Raises:
        OptionError: step and connector set different ones.
    """
    chosen = format_of(format, where=where) if format is not None else None
    columns = Schema.of(schema) if schema is not None else None
    check_override(connector, "format", chosen, where)
    check_override(connector, "schema", columns, where)
    return chosen or getattr(connector, "format", None), columns or connector.schema_known


def require_connector(given: object, where: str, verb: str) -> None:
    """Refuse what is no connector.

    Raises:
        OptionError: it isn't one, such as the bare word for it.
    """
    if not isinstance(given, Connector):
        hint = f'{verb} something from `connect`, such as connect.files(path="here/")'
        raise OptionError(f"expected a connector, got {given!r}", where=where, hint=hint)


class SourceModel(ConnectorModel):
    """An entry of `sources` in a document, without the keys of its time."""

    label = "the source"
    example = "such as {memory: {}, schema: id string}"
    role: ClassVar[Role] = "source"
    siblings = ("event_time", "ingestion_time", "processing_time")
    format: FormatValue | None = Field(default=None, description="The format of the records")
    schema_: SchemaValue | None = Field(
        default=None, alias="schema", description="The columns, as Spark's DDL text"
    )
    on_error: OnError = Field(
        default="divert", description="`divert`, `skip` or `fail` for a record that cannot be decoded"
    )

    def build(self, name: str) -> Source:
        """Return the node."""
        return source_node(
            name, self.connector, format=self.format, schema=self.schema_, on_error=self.on_error
        )

    @classmethod
    def from_values(cls, source: Source) -> Self:
        """Return the model of a node; a format and schema that the connector implies are omitted."""
        keys: dict[str, Any] = {"connector": source.connector}
        implied = source_node(source.name, source.connector)
        if source.format is not None and source.format != implied.format:
            keys["format"] = source.format
        implied = source_node(source.name, source.connector, format=source.format)
        if source.schema is not None and source.schema != implied.schema:
            keys["schema"] = source.schema
        if source.on_error != "divert":
            keys["on_error"] = source.on_error
        return cls.model_validate(keys)
