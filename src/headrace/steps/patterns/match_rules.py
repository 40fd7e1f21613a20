"""Patterns of a table of rules, which may change while the job runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from headrace.connectors.base import Connector
from headrace.durations import Duration, microseconds
from headrace.errors import OptionError
from headrace.patterns.elements import Order
from headrace.schemas.fields import Schema
from headrace.steps.base import MAIN, Node, Ref
from headrace.steps.expressions import Named
from headrace.steps.grammar.model import DocumentModel
from headrace.steps.grammar.options import RulesTable, SchemaValue
from headrace.steps.grammar.patterns import LATE_ROWS, ORDER, TIMEOUTS
from headrace.steps.grammar.step import StepModel
from headrace.steps.grammar.values import KeyColumns, Length
from headrace.steps.patterns.match import diverted_outputs, require_words
from headrace.triggers import LateRows

FAULTS = "faults"
"""The output of what is wrong with rules that were read while the job ran."""


@dataclass(frozen=True)
class MatchRules(Node):
    """Finds the patterns of a table of rules, which may change while the job runs, in the rows of each key."""

    input: Ref
    keys: Named
    table: Connector | str
    """A table of a database, or the path of a file."""
    measures: Schema | None = None
    """What matches of all rules give; None for the matched rows."""
    order: Order = "event_time"
    longest: int | None = None
    """The longest `within` that a rule may have."""
    late_rows: LateRows = "divert"
    timeouts: LateRows = "divert"
    verb: ClassVar[str] = "match_rules"

    @property
    def stateful(self) -> bool:
        return True

    @property
    def outputs(self) -> tuple[str, ...]:
        return (MAIN, *diverted_outputs(timeouts=self.timeouts, late=self.late_rows), FAULTS)


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
    """A node for a table of rules.

    Raises:
        OptionError: something is not what its option takes.
    """
    where = f"`{name}`"
    if not isinstance(rules, str | Path | Connector) or not str(rules):
        hint = 'write rules="rules.yaml", or rules=connect.postgres(url=..., table="rules")'
        raise OptionError(f"expected a file or a table of rules, got {rules!r}", where=where, hint=hint)
    require_words(where, order, late_rows, timeouts)
    table = rules if isinstance(rules, Connector) else str(rules)
    columns = None if measures is None else Schema.of(measures)
    most = None if longest is None else microseconds(longest, where=f"{where}: longest")
    return MatchRules(name, ref, keys, table, columns, order, most, late_rows, timeouts)


class MatchRulesOptions(DocumentModel):
    """The value of `match_rules` in a document."""

    label = "match_rules"
    example = "such as match_rules: {rules: rules.yaml, measures: at timestamp}"
    table: RulesTable = Field(alias="rules", description="A file of rules, or a table of a database")
    measures: SchemaValue | None = Field(
        default=None, description="The columns that matches of all rules have"
    )
    order: Order = Field(default="event_time", description=ORDER)
    longest: Length | None = Field(default=None, description="The longest `within` that a rule may have")
    late_rows: LateRows = Field(default="divert", description=LATE_ROWS)
    timeouts: LateRows = Field(default="divert", description=TIMEOUTS)


class MatchRulesModel(StepModel):
    """`match_rules` in a document."""

    node = MatchRules
    key = "match_rules"
    keys: KeyColumns = Field(default=(), alias="key_by")
    options: MatchRulesOptions = Field(
        alias="match_rules",
        description="Finds the patterns of a table of rules, which may change while the job runs",
    )
