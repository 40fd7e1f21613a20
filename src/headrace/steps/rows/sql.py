"""A Spark SQL query over streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from headrace.errors import OptionError, did_you_mean
from headrace.sql import facts as sql_facts
from headrace.sql.expression_check import check_query
from headrace.sql.foreign import foreign_forms
from headrace.sql.query_check import check_query_columns, selected_columns
from headrace.sql.refusals import refused_forms
from headrace.sql.shape import QueryShape, fixed_columns
from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expressions import find_columns, one_line
from headrace.steps.facts import Facts, duplicates, fixed_after, union_facts
from headrace.steps.grammar.problems import collect_errors, raise_at
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Expected, SqlText
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.rows.sql_checks import check_against
from headrace.steps.traits import Blocks, Differs, Finding, RealTimeNote, StateBound, Tier

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Sql(Node):
    """A Spark SQL query over streams; `tables` maps the table names of the query to outputs."""

    query: str
    tables: tuple[tuple[str, Ref], ...]
    stateful: bool = False
    """True if the query groups, joins, aggregates or deduplicates."""
    joins: bool = False
    """True if it joins streams."""
    windowed: bool = False
    """True if it groups by a window of time."""
    verb: ClassVar[str] = "sql"

    @property
    def updates(self) -> bool:
        # Spark joins streams in append mode only; windows emit their results when they close.
        return self.stateful and not self.joins and not self.windowed

    @property
    def drops_rows(self) -> bool:  # type: ignore[override]
        return not self.stateful and self.shape.filters

    @property
    def joins_several(self) -> bool:
        """True if it joins three streams or more: inner joins, which Spark runs without watermarks only."""
        return len(self.shape.joins) > 1

    @property
    def shape(self) -> QueryShape:
        """The parsed query."""
        return sql_facts.shape_of(self.query)

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return tuple(ref for _, ref in self.tables)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        if self.updates:
            keys = tuple(key.sql() for key in self.shape.group_keys)
            fixed = tuple((name, (key,)) for name, key in fixed_columns(self.shape))
            return Facts(change="updates", table_key=keys, fixed=fixed, keyed=True, grows=True)
        if self.stateful:
            return Facts()
        facts = union_facts(inputs)
        # A query over a running aggregate reads its new rows.
        change = "updates" if facts.keyed else facts.change
        after = Facts(change=change, adds=facts.adds, keyed=facts.keyed, grows=facts.grows)
        select = self.shape.row_wise
        if select is None or not facts.keyed:
            return after
        items = [(item.alias_or_name or None, _item_text(item)) for item in select.expressions]
        return replace(after, table_key=facts.table_key, fixed=fixed_after(facts, items).fixed)

    def is_refused(self, plan: Plan) -> bool:
        """Return True if the query needs other steps than this one, or has an error."""
        tables = (plan.facts(ref) for ref in self.inputs)
        reads_changes = self.stateful and any(facts.change == "table" for facts in tables)
        return reads_changes or any(True for _ in self.check(plan))

    def check(self, plan: Plan) -> Iterator[Finding]:
        tables = {table: plan.facts(ref) for table, ref in self.tables}
        columns = {table: facts.columns for table, facts in tables.items()}
        refused = list(refused_forms(self.query, self.shape))
        for fault in (*refused, *check_query(self.query), *check_query_columns(self.query, columns)):
            yield Finding(fault.problem, fault.hint, ("sql",))
        for name in duplicates(selected_columns(self.query, columns)):
            yield Finding(f"two columns are called `{name}`", "rename one of them with `as`", ("sql",))
        if not self.tables:
            yield Finding("the query reads no stream", "write `select ... from <stream> ...`", ("sql",))
        if not refused:
            yield from check_against(self.shape, tables)
        if self.updates and len({sink.mode or "update" for sink in plan.sinks_of(self)}) > 1:
            what = "its sinks have different modes"
            yield Finding(what, "set the same mode, update or complete, for all of them", ("sql",))

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if self.stateful and not self.joins_several:
            what = "Spark drops late rows of this query and only counts them"
            yield Finding(what, "window(...).aggregate(...) sends them to .late")

    def tier(self, plan: Plan) -> Tier:
        drops = self.stateful and not self.joins_several
        dropped = "; rows too late for its state are dropped by Spark" if drops else ""
        return Tier("native", f"Spark SQL{dropped}")

    def state_bound(self, plan: Plan) -> StateBound | None:
        if self.joins_several:
            hint = "write each join as a step with join(..., within=...)"
            return StateBound("all rows of the joined streams", "the rows of its input", hint)
        return StateBound("the state of Spark's operators") if self.stateful else None

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.stateful and not self.updates:
            yield Blocks("joins and windows need append mode, but real-time mode has update mode only")
        elif self.stateful:
            yield Differs("Spark must be able to run the query in update mode")

    def description(self) -> list[str]:
        return [one_line(self.query)]

    def state_fields(self) -> Mapping[str, Any]:
        return {"query": one_line(self.query)}

    def state_columns(self, columns: Sequence[str]) -> Sequence[str]:
        return find_columns(columns, [self.query])


def sql_node(
    name: str,
    query: str,
    known: Mapping[str, Ref],
    *,
    timed: Mapping[str, Ref] | None = None,
    where: str = "",
) -> Sql | RowPattern:
    """Return the node of a query; its tables are looked up among the known streams.

    Raises:
        OptionError: the query cannot be parsed, or reads an unknown stream.
    """
    facts = sql_facts.read(query, where=where or f"`{name}`")
    missing = [table for table in facts.tables if table not in known]
    if missing:
        raise OptionError(
            f"unknown stream `{missing[0]}` in the query",
            where=where or f"`{name}`",
            hint=did_you_mean(missing[0], known),
        )
    if (split := facts.split) is not None:
        ref = (timed or {}).get(split.table, known[split.table])
        return RowPattern(name, ref, split.table, query, split.rest, split.clause, split.input_query)
    refs = {**known, **(timed or {})} if facts.stateful else known  # a watermark bounds the state
    tables = tuple((table, refs[table]) for table in facts.tables)
    return Sql(name, query, tables, facts.stateful, facts.joins, facts.windowed)


def _item_text(item: exp.Expr) -> str:
    """Return an item of a select as text; `*` only if it passes on all columns."""
    item = item.unalias()
    return "*" if item.sql() == "*" else item.sql("spark")


class SqlModel(StepModel):
    """`sql` in a document: a query over its streams, with or without `MATCH_RECOGNIZE`."""

    node = (Sql, RowPattern)
    key = "sql"
    query: Annotated[SqlText, Expected("a query in Spark SQL")] = Field(
        alias="sql",
        description="A query in Spark SQL over the streams of the document, or over `this`, the stream of "
        "`from`",
    )

    @property
    def is_foreign(self) -> bool:
        """True for a query with forms that Spark does not have; other steps may have them."""
        return next(foreign_forms(self.query), None) is not None

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the query reads; all words of a query that only other steps can run."""
        if self.is_foreign:
            return tuple(dict.fromkeys(_WORD.findall(self.query)))
        return sql_facts.read(self.query, where="").tables

    def check(self) -> None:
        try:
            collect_errors(lambda: self.tables)
        except PydanticCustomError as error:
            raise_at(("sql",), error)

    def build(self, name: str, inputs: Inputs) -> Sql | RowPattern:
        """Return the node of the step."""
        return sql_node(name, self.query, inputs.tables)
