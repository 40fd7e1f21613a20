"""Sources: a connector whose records are decoded, or a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import Field

from headrace.connectors.base import Connector, Role
from headrace.connectors.roles import check_override, check_role
from headrace.errors import OptionError, SchemaError
from headrace.formats import Format
from headrace.formats import of as format_of
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, MAIN, Node, Plan
from headrace.steps.endpoints.describe import describe_connector
from headrace.steps.facts import Facts
from headrace.steps.grammar.options import ConnectorModel, FormatValue, SchemaValue
from headrace.steps.traits import Blocks, Differs, Finding, RealTimeNote, Tier

OnError = Literal["fail", "skip", "divert"]

DEAD_LETTER_COLUMNS = ("raw", "reason", "field", "source", "partition", "position", "read_at")


@dataclass(frozen=True)
class Source(Node):
    """Reads a connector and decodes its records."""

    connector: Connector
    format: Format | None = None
    schema: Schema | None = None
    on_error: OnError = "divert"
    verb: ClassVar[str] = "read"
    duplicate_hint: ClassVar[str] = (
        "rename the column of the schema; the connector adds the metadata columns that are set"
    )

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, DEAD_LETTERS) if self.connector.carries == "bytes" else (MAIN,)

    @property
    def collects_dead_letters(self) -> bool:
        return DEAD_LETTERS in self.outputs

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == DEAD_LETTERS:
            return Facts(columns=DEAD_LETTER_COLUMNS)
        if self.schema is None:
            return Facts(cdc=self.connector.captures_changes)
        columns = (*self.schema.names, *self.connector.metadata_columns)
        return Facts(columns=columns, schema=self.schema, cdc=self.connector.captures_changes)

    def check(self, plan: Plan) -> Iterator[Finding]:
        connector = self.connector
        if "source" not in connector.roles:
            yield Finding(f"{connector.kind} cannot be read from", "it is a sink only")
        elif problem := connector.stream_problem():
            yield Finding(*problem)
        if connector.carries == "bytes" and self.format is None:
            hint = 'add format="json", "avro", "csv", "protobuf", "text" or "raw"'
            yield Finding(f"{connector.kind} delivers bytes; set `format`", hint)
        elif connector.carries == "bytes" and self.format and (problem := self.format.source_problem()):
            yield Finding(*problem)
        elif self.format is not None and self.format.derives_schema:
            yield from self._check_columns(self.format)
        elif self.schema is None and (self.format is None or self.format.default_schema is None):
            hint = 'add schema="id string, at timestamp, ...", a dataclass or a pydantic model'
            written = "add schema: id string, at timestamp, ..."
            yield Finding("schema is missing", hint, document_hint=written)
        if self.on_error not in get_args(OnError):
            yield Finding(f"expected on_error to be fail, skip or divert, got {self.on_error!r}")

    def _check_columns(self, chosen: Format) -> Iterator[Finding]:
        try:
            chosen.check_schema(self.schema)
        except SchemaError as error:
            yield Finding(f"{error.where}: {error.what}".removeprefix(": "), error.hint, ("schema", "format"))

    def tier(self, plan: Plan) -> Tier:
        if self.connector.driver_side:
            return Tier("arrow", "its rows are read by the database's Python client")
        if self.connector.carries == "rows" or self.format is None or self.format.of_rows:
            return Tier("native", "its rows need no decoding")
        return Tier("kernel", f"decodes {self.format.name} from bytes straight into rows")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.connector.kind != "kafka":
            yield Blocks(f"{self.connector.kind} is read in micro-batches; real-time mode reads Kafka only")
        if self.on_error == "divert" and DEAD_LETTERS in self.outputs:
            hint = 'on_error="skip" or "fail"'
            yield Blocks(f"its dead letters are written at the end of a micro-batch ({hint} has none)")
        yield Differs("at the end of a batch, rows wait some tenths of a second for the next batch")

    def description(self) -> list[str]:
        columns = self.schema.fields if self.schema is not None else ()
        on_error = {"skip": "skips invalid records", "fail": "fails on invalid records"}
        return [
            describe_connector(self.connector),
            self.format.name if self.format else "",
            ", ".join(f"{field.name} {field.type}" for field in columns),
            on_error.get(self.on_error, ""),
        ]


@dataclass(frozen=True, eq=False)
class FrameSource(Node):
    """A DataFrame as a source."""

    frame: Any
    verb: ClassVar[str] = "from_dataframe"

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        return Facts()

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield Blocks("the sources of a DataFrame are unknown")


def source_node(
    name: str,
    connector: Connector,
    *,
    format: str | Format | None = None,  # noqa: A002
    schema: str | type | Schema | None = None,
    on_error: OnError = "divert",
) -> Source:
    """Return a source; format and schema default to those of the connector, then the format's schema."""
    require_connector(connector, f"`{name}`", "read")
    check_role(connector, "source", f"`{name}`")
    chosen, columns = decoding_of(connector, format, schema, where=f"`{name}`")
    if columns is None and chosen is not None:
        columns = chosen.default_schema
    return Source(name, connector.with_format(chosen), chosen, columns, on_error)


def require_connector(value: object, where: str, verb: str) -> None:
    """Reject a value that is not a connector.

    Raises:
        OptionError: the value has another type, such as text.
    """
    if not isinstance(value, Connector):
        hint = f'{verb} a connector of `connect`, such as connect.files(path="in/")'
        raise OptionError(f"expected a connector, got {value!r}", where=where, hint=hint)


def decoding_of(
    connector: Connector,
    format: str | Format | None,  # noqa: A002
    schema: str | type | Schema | None,
    *,
    where: str,
) -> tuple[Format | None, Schema | None]:
    """Return the format and schema of a step; each defaults to that of the connector.

    Raises:
        OptionError: step and connector set different values.
    """
    chosen = format_of(format, where=where) if format is not None else None
    columns = Schema.of(schema) if schema is not None else None
    check_override(connector, "format", chosen, where)
    check_override(connector, "schema", columns, where)
    return chosen or getattr(connector, "format", None), columns or connector.schema_known


class SourceModel(ConnectorModel):
    """An entry of `sources` in a document, without the keys of its time."""

    label = "the source"
    example = "such as {memory: {}, schema: id string}"
    role: ClassVar[Role] = "source"
    siblings = ("event_time", "ingestion_time", "processing_time", "changelog")
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
