"""Patterns of a table of rules, which may change while the job runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, ClassVar

from pydantic import Field

from headrace.connectors.base import Connector
from headrace.durations import Duration, microseconds, text
from headrace.errors import OptionError
from headrace.schemas.fields import Schema
from headrace.steps.base import Plan, Ref
from headrace.steps.endpoints.describe import describe_connector
from headrace.steps.expressions import Named, describe_keys, names_of, stable_names
from headrace.steps.facts import Facts, late_facts
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.options import RulesTable, SchemaValue
from headrace.steps.grammar.patterns import LateRowsValue, OrderValue, TimeoutsValue
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import KeyColumns, Length
from headrace.steps.patterns.keyed import KeyedPattern
from headrace.steps.traits import Blocks, Finding, RealTimeNote, StateBound, Tier
from headrace.triggers import LateRows
from headrace.windows import Order

FAULTS = "faults"
"""The side output of rules that cannot be used."""
FAULT_COLUMNS = ("rule", "version", "reason", "hint", "place", "read_at")
RULE_COLUMNS = ("rule", "version", "start", "end")
RULE_FILES = (".yaml", ".yml", ".json", ".jsonl", ".csv")
"""The suffixes of files of rules."""


@dataclass(frozen=True)
class MatchRules(KeyedPattern):
    """Finds the patterns of a table of rules, which may change during a run, in the rows of each key."""

    table: Connector | str
    """A table of a database, or the path of a file."""
    measures: Schema | None = None
    """The columns of the matches of all rules; None for the matched rows."""
    longest: int | None = None
    """The longest `within` that a rule may have."""
    verb: ClassVar[str] = "match_rules"
    delay_hint: ClassVar[str] = "bound the time of a rule: match_rules(..., longest='1 hour')"
    duplicate_hint: ClassVar[str] = (
        f"rename the key or measure; a match has the columns {', '.join(RULE_COLUMNS)} as well"
    )

    @property
    def outputs(self) -> tuple[str, ...]:
        return (*super().outputs, FAULTS)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if output == "late":
            return late_facts(inputs[0])
        if output == FAULTS:
            return Facts(columns=FAULT_COLUMNS)
        values = ("matched",) if output or self.measures is None else self.measures.names
        return Facts(
            columns=(*names_of(self.keys), *RULE_COLUMNS, *values),
            timed=True,
            time_column=inputs[0].time_column,
            order_from=inputs[0].order_from,
            hold=0 if output else self.longest,
        )

    def check(self, plan: Plan) -> Iterator[Finding]:
        yield from super().check(plan)
        if isinstance(self.table, Connector):
            if not self.table.listable:
                what = f"{self.table.kind} does not support tables of rules"
                yield Finding(what, "use a file, postgres, mysql or sqlite", ("rules",))
        elif PurePath(self.table).suffix.lower() not in RULE_FILES:
            hint = f"its name must end with {', '.join(RULE_FILES)}"
            yield Finding(f"{self.table} is not a file of rules", hint, ("rules",))

    def tier(self, plan: Plan) -> Tier:
        return Tier(
            "kernel", "Spark has no patterns; all rules run in one operator and share their conditions"
        )

    def state_bound(self, plan: Plan) -> StateBound:
        each, waiting = self.of_each_key, self.describe_buffer(plan)
        most = f", {text(self.longest)} at most" if self.longest else ""
        return StateBound(f"partial matches{each}, kept for the `within` of their rule{most}{waiting}")

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        yield Blocks(
            "rules are read at the start of each micro-batch, and real-time tasks run for a whole batch"
        )
        yield from super().real_time(plan)

    def description(self) -> list[str]:
        table = describe_connector(self.table) if isinstance(self.table, Connector) else self.table
        return [
            f"the rules of {table}, read at the start of each batch",
            describe_keys(self.keys),
            f"each within {text(self.longest)} at most" if self.longest else "",
            "in arrival order" if self.order == "arrival" else "",
            f"measures {self.measures.ddl}" if self.measures is not None else "",
            *self.describe_counted(),
        ]

    def state_fields(self) -> Mapping[str, Any]:
        return {"keys": stable_names(self.keys), "order": self.order}


def rules_node(
    name: str,
    ref: Ref,
    keys: Named,
    rules: str | Path | Connector,
    *,
    measures: str | type | Schema | None = None,
    order: Order = "event_time",
    longest: Duration | None = None,
    late_rows: LateRows = "divert",
    timeouts: LateRows = "divert",
) -> MatchRules:
    """Return the node of a table of rules.

    Raises:
        OptionError: an option has an invalid value.
    """
    where = f"`{name}`"
    if not isinstance(rules, str | Path | Connector) or not str(rules):
        hint = 'write rules="rules.yaml", or rules=connect.postgres(url=..., table="rules")'
        raise OptionError(f"expected a file or a table of rules, got {rules!r}", where=where, hint=hint)
    return MatchRules(
        name,
        ref,
        keys,
        rules if isinstance(rules, Connector) else str(rules),
        None if measures is None else Schema.of(measures),
        None if longest is None else microseconds(longest, where=f"{where}: longest"),
        order=order,
        late_rows=late_rows,
        timeouts=timeouts,
    )


class MatchRulesOptions(DocumentModel):
    """The value of `match_rules` in a document."""

    label = "match_rules"
    example = "such as match_rules: {rules: rules.yaml, measures: at timestamp}"
    table: RulesTable = Field(alias="rules", description="A file of rules, or a table of a database")
    measures: SchemaValue | None = Field(
        default=None, description="The columns that matches of all rules have"
    )
    order: OrderValue = "event_time"
    longest: Length | None = Field(default=None, description="The longest `within` that a rule may have")
    late_rows: LateRowsValue = "divert"
    timeouts: TimeoutsValue = "divert"


class MatchRulesModel(StepModel):
    """`match_rules` in a document."""

    node = MatchRules
    key = "match_rules"
    keys: KeyColumns = Field(default=(), alias="key_by")
    options: MatchRulesOptions = Field(
        alias="match_rules",
        description="Finds the patterns of a table of rules, which may change while the job runs",
    )
