"""Lookups in a table that is held whole, or read by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge
from pydantic import PlainSerializer, PlainValidator

from headrace.connectors.base import Connector, Load, Role
from headrace.connectors.memory import Memory
from headrace.durations import text
from headrace.errors import OptionError
from headrace.functions.failures import REASON, rename_reserved
from headrace.lookups.check import check_loading
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, MAIN, Plan, Ref
from headrace.steps.endpoints.describe import describe_connector
from headrace.steps.endpoints.source import decoding_of
from headrace.steps.endpoints.table import TableReader
from headrace.steps.expression_checks import check_pair_expressions
from headrace.steps.expressions import Opaque
from headrace.steps.facts import Facts
from headrace.steps.grammar.declaration import Input, StepNode, declare
from headrace.steps.grammar.options import (
    ConnectorKeys,
    FormatValue,
    SchemaValue,
    connector_document,
    connector_of,
)
from headrace.steps.grammar.problems import expect
from headrace.steps.grammar.step import PaletteEntry
from headrace.steps.grammar.values import Condition, Length, Names
from headrace.steps.traits import Finding, RealTimeNote, Tier, unknown_columns
from headrace.steps.unrouted import note_unrouted

LookupHow = Literal["inner", "left"]
OnMiss = Literal["null", "drop", "dead_letter"]
_KEYS = ("on", "lookup")


def _table(value: Any) -> Connector | Opaque:
    if isinstance(value, Opaque):
        return value
    if hasattr(value, "schema") and not isinstance(value, Connector):
        return Opaque(value)
    if not isinstance(value, Connector | Mapping) or not value:
        raise expect("a table", "such as connect.files(path=...), or a DataFrame")
    return connector_of(value)


def _table_document(table: Connector | Opaque) -> dict[str, Any]:
    if isinstance(table, Opaque):
        raise OptionError("a DataFrame cannot be written in a document", hint="look up in a connector")
    return connector_document(table)


@declare
class Lookup(ConnectorKeys, StepNode, TableReader):
    """Adds the columns of a table row with the same key."""

    input: Input
    table: Annotated[Connector | Opaque, PlainValidator(_table), PlainSerializer(_table_document)]
    on: Names
    """The columns that both sides have."""
    on_miss: OnMiss | None = None
    """`null`, `drop` or `dead_letter` for a row without a match."""
    where: Condition | None = None
    """An extra condition over left.column and right.column, the row of the table."""
    format: FormatValue | None = None
    """The format of the table's records."""
    schema: SchemaValue | None = None
    """The columns of the table."""
    load: Load = "table"
    """`table`: the table is held whole; `key`: its rows are read by key."""
    refresh: Length | None = None
    """`table`: how often it is reloaded; default: read when the run starts."""
    cache: Annotated[int, Ge(0)] = 10_000
    """`key`: the number of keys that a worker caches; 0: none."""
    ttl: Length = Length(60_000_000)
    """`key`: the time to live of a cache entry."""
    concurrency: Annotated[int, Ge(1)] = 8
    """`key`: the number of concurrent HTTP requests of a task."""
    how: LookupHow = "left"
    """The spelling of 0.2: `inner` is `on_miss: drop`."""

    verb: ClassVar[str] = "lookup"
    key: ClassVar[str] = "lookup"
    nested: ClassVar[bool] = True
    label: ClassVar[str] = "lookup"
    example: ClassVar[str] = "such as {files: {path: homes.csv, format: csv}, on: card}"
    palette: ClassVar[PaletteEntry] = PaletteEntry("Join", "Lookup", {"lookup": {"files": {}}})
    role: ClassVar[Role] = "table"
    connector_field: ClassVar[str] = "table"
    duplicate_hint: ClassVar[str] = (
        "rename the column before the lookup: the stream and the table both have it"
    )

    def __post_init__(self) -> None:
        """Set the format and schema, which default to those of the table."""
        if isinstance(self.table, Connector):
            chosen, columns = decoding_of(self.table, self.format, self.schema, where="")
            object.__setattr__(self, "table", self.table.with_format(chosen))
            object.__setattr__(self, "format", chosen)
            object.__setattr__(self, "schema", columns)

    def shorten(self, data: dict[str, Any]) -> Any:
        """Omit the format and schema that the table implies."""
        assert isinstance(self.table, Connector)
        format_, schema = decoding_of(self.table, None, None, where="")
        implied = [
            name for name, value in (("format", format_), ("schema", schema)) if value == getattr(self, name)
        ]
        return super().shorten({name: value for name, value in data.items() if name not in implied})

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, DEAD_LETTERS) if self.miss == "dead_letter" else (MAIN,)

    @property
    def miss(self) -> OnMiss:
        """The treatment of rows without a match: `on_miss`; default: from `how`."""
        return self.on_miss or ("drop" if self.how == "inner" else "null")

    @property
    def volatile(self) -> bool:
        return self.load == "key" or self.refresh is not None

    @property
    def drops_rows(self) -> bool:  # type: ignore[override]
        return self.miss != "null"

    @property
    def table_name(self) -> str:
        """The name of the table in errors and dead letters."""
        if not isinstance(self.table, Connector):
            return "the DataFrame"
        target = getattr(self.table, "table", None) or getattr(self.table, "path", None)
        return f"{self.table.kind} `{target}`" if target else self.table.kind

    def with_rows(self, rows: Sequence[Mapping[str, Any]], schema: Schema) -> Lookup:
        table = Memory(rows=list(rows))
        return Lookup(self.name, self.input, table, self.on, self.miss, schema=schema)

    def runs_once(self, plan: Plan) -> bool:
        # If two queries executed it, a row could match in the one and not in the other, and be in no output.
        # But an exchange of a stateless query has no final watermark marker, which a stateful reader needs.
        if not self.volatile or self.miss != "dead_letter":
            return False
        return not plan.facts(self.input).timed or not self._feeds_state(plan)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        columns = inputs[0].columns
        if output == DEAD_LETTERS:
            return Facts(columns=None if columns is None else (*rename_reserved(columns, (REASON,)), REASON))
        if columns is None or self.schema is None:
            return replace(inputs[0], columns=None)
        added = (name for name in self.schema.names if name not in self.on)
        return replace(inputs[0], columns=(*columns, *added))

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from check_loading(self)
        yield from unknown_columns(self.on, plan.facts(self.input).columns, "lookup", _KEYS)
        right = None if self.schema is None else (*self.schema.names, *self.on)
        sides = {"left": plan.facts(self.input).columns, "right": right}
        yield from check_pair_expressions([self.where], sides, "where")
        if self.schema is not None and self.load == "table":
            yield from unknown_columns(self.on, self.schema.names, "table", _KEYS)

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if self.volatile and self.miss == "dead_letter" and not self.runs_once(plan):
            yield Finding(
                "its rows and its dead letters are computed by two queries; a row whose match appears "
                "in between is in neither",
                "declare event_time after the lookup",
                ("lookup",),
            )

    def tier(self, plan: Plan) -> Tier:
        table = self.table.kind if isinstance(self.table, Connector) else "the DataFrame"
        if self.load == "key":
            return Tier("arrow", f"the keys of each Arrow batch are read from {table}", "the lookup")
        if self.refresh is not None:
            return Tier("arrow", f"workers hold {table}, which is reloaded", "the lookup")
        return Tier("native", f"a broadcast join; {table} is read when the run starts")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield from note_unrouted(plan, self)

    def description(self) -> list[str]:
        table = describe_connector(self.table) if isinstance(self.table, Connector) else "a DataFrame"
        unmatched = {
            "null": "nulls for rows without a match",
            "drop": "drops rows without a match",
            "dead_letter": "rows without a match go to .dead_letters",
        }
        cache = f"cached for {text(self.ttl)}" if self.cache else "not cached"
        loading = f"by key, {cache}" if self.load == "key" else ""
        refresh = f"reloaded every {text(self.refresh)}" if self.refresh is not None else ""
        condition = f"where {self.where}" if self.where is not None else ""
        on = f"on {', '.join(self.on)}"
        return [f"in {table}", on, condition, loading or refresh, unmatched[self.miss]]

    def _feeds_state(self, plan: Plan) -> bool:
        """True if a stateful step depends on its rows."""
        todo = [Ref(self.name, output) for output in self.outputs]
        while todo:
            for step in plan.consumers[todo.pop()]:
                if step.stateful:
                    return True
                todo += [Ref(step.name, output) for output in step.outputs]
        return False
