"""Sinks: a stream written to a connector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, get_args

from pydantic import Field

from headrace.connectors.base import Connector, Role, WriteMode
from headrace.connectors.roles import check_role
from headrace.connectors.row_encoding import message_columns
from headrace.errors import Problem
from headrace.formats import Format
from headrace.schemas.datatypes import DataType
from headrace.steps.base import Node, Plan, Ref
from headrace.steps.endpoints.describe import describe_connector
from headrace.steps.facts import CHANGE, Facts
from headrace.steps.grammar.options import ConnectorModel
from headrace.steps.grammar.values import Reference
from headrace.steps.stateful.updates import check_replaced, replaces_rows, warn_of_key
from headrace.steps.traits import Blocks, Differs, Finding, RealTimeNote, Tier, unknown_columns

_COLUMN_OPTIONS = (
    "key",
    "partition_by",
    "headers",
    "value",
    "topic_column",
    "partition_column",
    "user_properties",
)
"""Options of connectors that name columns of the rows."""


@dataclass(frozen=True)
class Sink(Node):
    """Writes a stream to a connector; `mode` is None for the default."""

    input: Ref
    connector: Connector
    mode: WriteMode | None = None
    verb: ClassVar[str] = "write"

    def __post_init__(self) -> None:
        check_role(self.connector, "sink", f"`{self.name}`")

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()

    @property
    def read_connectors(self) -> tuple[Connector, ...]:
        return ()

    def write_mode(self, plan: Plan) -> WriteMode:
        """Return the mode; default: update for a running aggregate, changes for other tables, or append.

        A table without the column `change` gives its new rows: old ones could not be told from them.
        """
        facts = plan.facts(self.input)
        if self.mode is not None or facts.change != "table":
            return self.mode or ("update" if facts.keyed else "append")
        is_marked = facts.columns is None or CHANGE in facts.columns
        return "changes" if is_marked and not facts.keyed else "update"

    def check(self, plan: Plan) -> Iterator[Finding]:
        if "sink" not in self.connector.roles:
            yield Finding(f"{self.connector.kind} cannot be written to", "it is a source only", ("mode",))
        yield from self._check_mode(plan)
        yield from check_replaced(plan, self)
        columns, schema = self._columns(plan), plan.facts(self.input).schema
        if schema is not None and (problem := self.connector.schema_problem(schema)):
            yield Finding(*problem)
        for option in _COLUMN_OPTIONS:
            value = getattr(self.connector, option, None) or ()
            if isinstance(value, Mapping):  # constant headers of a webhook
                continue
            names = (value,) if isinstance(value, str) else tuple(value)
            yield from unknown_columns(names, columns, option, (option,))
        yield from self._check_encoding(plan)
        used = (name.split(".")[0] for name in getattr(self.connector, "template_columns", ()))
        yield from unknown_columns(used, columns, "template")

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if self.mode == "changes" and not self.connector.row_key:
            what = "the sink has no key, so it gets every change as a row, with the column `change`"
            yield Finding(what, "give the sink a key to keep the present rows only", ("mode",))
        yield from warn_of_key(plan, self)

    def _columns(self, plan: Plan) -> tuple[str, ...] | None:
        """Return the columns that it writes, if they are known."""
        facts = plan.facts(self.input)
        if facts.columns is None or facts.change != "table":
            return facts.columns
        upserts = bool(getattr(self.connector, "key", None)) and replaces_rows(self, facts)
        plain = tuple(name for name in facts.columns if name != CHANGE)
        if not upserts and self.write_mode(plan) == "changes":
            return (*plain, CHANGE)
        return plain if upserts else facts.columns

    def _check_encoding(self, plan: Plan) -> Iterator[Finding]:
        """Check the columns against the format, as far as names and types are declared."""
        facts, names = plan.facts(self.input), self._columns(plan)
        if names is None or not self.checks_columns:
            return
        types = {name: _declared_type(facts, name) for name in names}
        for problem in self.encoding_problems(types):
            yield Finding(f"{problem.where}: {problem.what}", problem.hint, ("value", "format"))

    @property
    def checks_columns(self) -> bool:
        """True if its format checks the columns before the first epoch."""
        chosen = getattr(self.connector, "format", None)
        return isinstance(chosen, Format) and chosen.checks_columns

    def encoding_problems(self, columns: Mapping[str, DataType | None]) -> Iterator[Problem]:
        """Yield the reasons for which the format cannot encode rows with these columns."""
        chosen = getattr(self.connector, "format", None)
        if isinstance(chosen, Format):
            names = message_columns(self.connector, columns)
            yield from chosen.encoding_problems({name: columns[name] for name in names if name in columns})

    def _check_mode(self, plan: Plan) -> Iterator[Finding]:
        facts = plan.facts(self.input)
        if self.mode is not None and self.mode not in get_args(WriteMode):
            what = f"expected mode to be append, update, changes or complete, got {self.mode!r}"
            yield Finding(what, "", ("mode",))
        elif facts.keyed and self.mode == "append":
            what = "a running aggregate changes its rows, so mode append is not possible"
            yield Finding(what, 'use mode="update", "changes" or "complete"', ("mode",))
        elif facts.change == "none" and self.mode in ("update", "changes", "complete"):
            what = f'mode="{self.mode}" is for running aggregates and tables; these rows never change'
            yield Finding(what, 'remove mode, or use "append"', ("mode",))
        elif self.mode == "changes" and facts.change != "table":
            what = 'mode="changes" is for tables; these rows do not include the changes that remove rows'
            yield Finding(what, "remove mode", ("mode",))
        elif self.mode == "complete" and facts.change == "table" and not facts.keyed:
            what = 'mode="complete" is for running aggregates; these rows are the changes of a table'
            yield Finding(what, "remove mode, and set the key of the sink", ("mode",))
        unkeyed = self.mode is None and not facts.keyed and not getattr(self.connector, "key", None)
        if facts.change == "table" and unkeyed and self.connector.kind == "kafka":
            what = "a table is written to Kafka as upserts and tombstones, which need a key"
            hint = 'set `key`, the columns that identify a row, or mode="changes" to write every change'
            yield Finding(what, hint, ("kafka", "key"))
        if problem := self.connector.mode_problem(self.write_mode(plan)):
            hint = "set `key`, such as `key: [card, window]`" if "`key`" in problem else ""
            yield Finding(problem, hint, ("mode",))

    def tier(self, plan: Plan) -> Tier:
        return Tier("native", f"{self.connector.kind}'s writer, once for each epoch")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.connector.kind != "kafka":
            yield Blocks(
                f"{self.connector.kind} is written with foreachBatch; real-time mode writes to Kafka only"
            )
        last = next((step for step in reversed(plan.upstream(self)) if step.stateful), None)
        if last is not None and self.input.step != last.name:
            yield Blocks(
                f"there is a step between the stateful step `{last.name}` and its sink "
                f"(write `{last.name}`, and apply the step to the topic)"
            )
        if self.mode in ("changes", "complete"):
            yield Blocks(f"real-time mode has update mode only, but this sink requires {self.mode}")
        yield Differs("at least once; readers must remove duplicates")

    def description(self) -> list[str]:
        return [describe_connector(self.connector), f"mode {self.mode}" if self.mode else ""]


def _declared_type(facts: Facts, name: str) -> DataType | None:
    return facts.schema[name].type if facts.schema is not None and name in facts.schema else None


class SinkModel(ConnectorModel):
    """An entry of `sinks` in a document."""

    label = "the sink"
    example = "such as {from: totals, console: {}}"
    role: ClassVar[Role] = "sink"
    input: Reference = Field(alias="from", description="The step or output that is written")
    mode: WriteMode | None = Field(default=None, description="For tables: `update`, `changes` or `complete`")

    def build(self, name: str, ref: Ref) -> Sink:
        """Return the node."""
        return Sink(name, ref, self.connector, self.mode)
