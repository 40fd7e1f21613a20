"""Sources: a connector whose records are decoded, or a DataFrame from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from headrace.connectors.base import Connector
from headrace.connectors.roles import check_override, check_role
from headrace.errors import OptionError
from headrace.formats import Format
from headrace.formats import of as format_of
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
