"""A Spark SQL query over streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from headrace.errors import OptionError, did_you_mean
from headrace.sql import facts as sql_facts
from headrace.sql.expression_check import check_query
from headrace.sql.query_check import check_query_columns, selected_columns
from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expressions import find_columns, one_line
from headrace.steps.facts import Facts, duplicates, union_facts
from headrace.steps.grammar.problems import collect_errors, raise_at
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Expected, SqlText
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.traits import Differs, Finding, RealTimeNote, StateBound, Tier


@dataclass(frozen=True)
class Sql(Node):
    """A Spark SQL query over streams; `tables` maps the table names of the query to outputs."""

    query: str
    tables: tuple[tuple[str, Ref], ...]
    stateful: bool = False
    """True if the query groups, joins, aggregates or deduplicates."""
    joins: bool = False
    """True if it joins streams."""
    verb: ClassVar[str] = "sql"

    @property
    def updates(self) -> bool:
        return self.stateful and not self.joins  # Spark joins streams in append mode only

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return tuple(ref for _, ref in self.tables)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
        change = union_facts(inputs).change
        return Facts(change="updates" if self.updates else "none" if change == "table" else change)

    def check(self, plan: Plan) -> Iterator[Finding]:
        columns = {table: plan.facts(ref).columns for table, ref in self.tables}
        for fault in (*check_query(self.query), *check_query_columns(self.query, columns)):
            yield Finding(fault.problem, fault.hint, ("sql",))
        for name in duplicates(selected_columns(self.query, columns)):
            yield Finding(f"two columns are called `{name}`", "rename one of them with `as`", ("sql",))
        if not self.stateful and sql_facts.sorts_rows(self.query):
            what = "a stream has no end, so its rows cannot be sorted"
            yield Finding(what, "sort them in the target system, or use top_n", ("sql",))
        untimed = [name for name, ref in self.tables if not plan.facts(ref).timed]
        if untimed and sql_facts.has_outer_join(self.query):
            what = f"an outer join of streams needs event time, but `{untimed[0]}` has none"
            yield Finding(what, "join the stream after event_time: event_time(..., name=...)", ("sql",))

    def warnings(self, plan: Plan) -> Iterator[Finding]:
        if self.stateful:
            what = "Spark drops late rows of this query and only counts them"
            yield Finding(what, "window(...).aggregate(...) sends them to .late")

    def tier(self, plan: Plan) -> Tier:
        dropped = "; rows too late for its state are dropped by Spark" if self.stateful else ""
        return Tier("native", f"Spark SQL{dropped}")

    def state_bound(self, plan: Plan) -> StateBound | None:
        return StateBound("the state of Spark's operators") if self.stateful else None

    def real_time(self, plan: Plan) -> Iterator[RealTimeNote]:
        if self.stateful:
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
    return Sql(
        name, query, tuple((table, known[table]) for table in facts.tables), facts.stateful, facts.joins
    )


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
    def tables(self) -> tuple[str, ...]:
        """The tables that the query reads."""
        return sql_facts.read(self.query, where="").tables

    def check(self) -> None:
        try:
            collect_errors(lambda: self.tables)
        except PydanticCustomError as error:
            raise_at(("sql",), error)

    def build(self, name: str, inputs: Inputs) -> Sql | RowPattern:
        """Return the node of the step."""
        return sql_node(name, self.query, inputs.tables)
