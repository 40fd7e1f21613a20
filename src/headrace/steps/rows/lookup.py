"""Lookups in a table that is loaded as a whole, or read by key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from headrace.connectors.base import Connector, Load, Role
from headrace.connectors.roles import check_role
from headrace.durations import text
from headrace.errors import OptionError
from headrace.formats import Format
from headrace.functions.failures import REASON, rename_reserved
from headrace.schemas.fields import Schema
from headrace.steps.base import DEAD_LETTERS, MAIN, Node, Plan, Ref
from headrace.steps.endpoints.describe import describe_connector
from headrace.steps.endpoints.source import decoding_of
from headrace.steps.expressions import Opaque, column_names
from headrace.steps.facts import Facts
from headrace.steps.grammar.options import ConnectorModel, FormatValue, SchemaValue
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Length, Names
from headrace.steps.rows.lookup_checks import check_loading
from headrace.steps.traits import Finding, RealTimeNote, Tier, unknown_columns
from headrace.steps.unrouted import note_unrouted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LookupHow = Literal["inner", "left"]
OnMiss = Literal["null", "drop", "dead_letter"]

CACHE, TTL, CONCURRENCY = 10_000, 60_000_000, 8
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
    load: Load = "table"
    refresh: int | None = None
    cache: int | None = None
    ttl: int | None = None
    concurrency: int | None = None
    on_miss: OnMiss | None = None
    verb: ClassVar[str] = "lookup"
    duplicate_hint: ClassVar[str] = (
        "rename the column before the lookup: the stream and the table both have it"
    )

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, DEAD_LETTERS) if self.miss == "dead_letter" else (MAIN,)

    @property
    def miss(self) -> OnMiss:
        """The treatment of rows without a match: `on_miss`; default: from `how`."""
        return self.on_miss or ("drop" if self.how == "inner" else "null")

    @property
    def volatile(self) -> bool:
        """True if results can change during a run."""
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

    @property
    def cache_size(self) -> int:
        return CACHE if self.cache is None else self.cache

    @property
    def cache_ttl(self) -> int:
        """In microseconds."""
        return TTL if self.ttl is None else self.ttl

    @property
    def max_requests(self) -> int:
        return CONCURRENCY if self.concurrency is None else self.concurrency

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
        cache = f"cached for {text(self.cache_ttl)}" if self.cache_size else "not cached"
        loading = f"by key, {cache}" if self.load == "key" else ""
        refresh = f"reloaded every {text(self.refresh)}" if self.refresh is not None else ""
        return [f"in {table}", f"on {', '.join(self.on)}", loading or refresh, unmatched[self.miss]]

    def _feeds_state(self, plan: Plan) -> bool:
        """True if a stateful step depends on its rows."""
        todo = [Ref(self.name, output) for output in self.outputs]
        while todo:
            for step in plan.consumers[todo.pop()]:
                if step.stateful:
                    return True
                todo += [Ref(step.name, output) for output in step.outputs]
        return False


def lookup_node(
    name: str,
    ref: Ref,
    table: Connector | DataFrame,
    *,
    on: str | list[str] | tuple[str, ...],
    format: str | Format | None = None,  # noqa: A002
    schema: str | type | Schema | None = None,
    **loading: Any,
) -> Lookup:
    """Return a lookup; format and schema default to those of the table.

    Args:
        name: the step.
        ref: its input.
        table: a connector, or a DataFrame.
        on: the key columns.
        format: the format of the records of the table.
        schema: the schema of the table.
        loading: the other fields of `Lookup`.
    """
    keys = column_names(on, f"`{name}`: on")
    if not isinstance(table, Connector):
        if not hasattr(table, "schema"):
            hint = "such as connect.files(path=...), or a DataFrame"
            raise OptionError(f"expected a table, got {table!r}", where=f"`{name}`", hint=hint)
        columns = Schema.of(schema) if schema is not None else None
        return Lookup(name, ref, keys, Opaque(table), None, columns, **loading)
    check_role(table, "table", f"`{name}`")
    chosen, columns = decoding_of(table, format, schema, where=f"`{name}`")
    return Lookup(name, ref, keys, table.with_format(chosen), chosen, columns, **loading)


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
    load: Load = Field(
        default="table", description="`table`: the table is held whole; `key`: its rows are read by key"
    )
    refresh: Length | None = Field(
        default=None, description="`table`: how often it is reloaded; default: read when the run starts"
    )
    cache: int | None = Field(
        default=None, description="`key`: the number of keys that a worker caches; 0: none; default: 10,000"
    )
    ttl: Length | None = Field(
        default=None, description="`key`: the time to live of a cache entry; default: 1 minute"
    )
    concurrency: int | None = Field(
        default=None, description="`key`: the number of concurrent HTTP requests of a task; default: 8"
    )
    on_miss: OnMiss | None = Field(
        default=None, description="`null`, `drop` or `dead_letter` for a row without a match"
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
        keys |= {
            name: value for name in _LOADING if (value := getattr(source, name)) != getattr(implied, name)
        }
        for name in ("refresh", "ttl"):
            keys |= {name: text(keys[name])} if name in keys else {}
        return cls.model_validate(keys)


_LOADING = ("how", "load", "refresh", "cache", "ttl", "concurrency", "on_miss")


class LookupModel(StepModel):
    """`lookup` in a document."""

    node = Lookup
    key = "lookup"
    options: LookupOptions = Field(
        alias="lookup", description="Adds the columns of a table row with the same key"
    )

    def build(self, name: str, inputs: Inputs) -> Lookup:
        """Return the node of the step."""
        options = self.options
        loading = {option: getattr(options, option) for option in _LOADING}
        return lookup_node(
            name,
            inputs.refs[0],
            options.connector,
            on=options.on,
            format=options.format,
            schema=options.schema_,
            **loading,
        )
