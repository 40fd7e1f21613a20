"""A Spark SQL query over streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from headrace.errors import OptionError, did_you_mean
from headrace.sql import facts as sql_facts
from headrace.sql.expression_check import check_query
from headrace.sql.foreign import foreign_forms
from headrace.sql.query_check import check_query_columns, selected_columns
from headrace.sql.refusals import refused_forms
from headrace.sql.shape import QueryShape
from headrace.steps.base import Node, Plan, Ref
from headrace.steps.expressions import one_line
from headrace.steps.facts import Facts, duplicates, fixed_after, union_facts
from headrace.steps.grammar.problems import collect_errors, raise_at
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Expected, SqlText
from headrace.steps.patterns.match_recognize import RowPattern
from headrace.steps.traits import Finding, Tier

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_WORD = re.compile(r"\w+")
_OR_STEPS = "or use where(...) and select(...), which carry the changes along"


@dataclass(frozen=True)
class Sql(Node):
    """A Spark SQL query over streams; `tables` maps the table names of the query to outputs."""

    query: str
    tables: tuple[tuple[str, Ref], ...]
    verb: ClassVar[str] = "sql"

    @property
    def drops_rows(self) -> bool:  # type: ignore[override]
        return self.shape.filters

    @property
    def shape(self) -> QueryShape:
        """The parsed query."""
        return sql_facts.shape_of(self.query)

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return tuple(ref for _, ref in self.tables)

    def output_facts(self, output: str, inputs: Sequence[Facts]) -> Facts:
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
        """Return True if the query has an error, or needs other steps."""
        return any(True for _ in self.check(plan))

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
            yield from _check_changes(self.shape, tables)

    def tier(self, plan: Plan) -> Tier:
        return Tier("native", "Spark SQL")

    def description(self) -> list[str]:
        return [one_line(self.query)]


def sql_node(
    name: str,
    query: str,
    known: Mapping[str, Ref],
    *,
    timed: Mapping[str, Ref] | None = None,
    where: str = "",
) -> Sql | RowPattern | None:
    """Return the node of a query; None if it groups or joins, which other steps do.

    Its tables are looked up among the known streams.

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
    if facts.stateful:
        return None
    return Sql(name, query, tuple((table, known[table]) for table in facts.tables))


def _check_changes(shape: QueryShape, tables: Mapping[str, Facts]) -> Iterator[Finding]:
    """Check that the query passes on the column by which later steps and sinks recognise removed rows."""
    for table, facts in tables.items():
        if facts.change == "table" and not facts.keyed and not shape.keeps("change"):
            what = f"`{table}` is a table, whose removed rows would be results: the query drops its `change`"
            hint = f"select `change` of this one table without joins and subqueries, {_OR_STEPS}"
            yield Finding(what, hint, ("sql",))
        if facts.change == "refinements" and not facts.adds and not shape.keeps("pane"):
            what = f"`{table}` replaces rows, whose old versions would be results: the query drops its `pane`"
            hint = f"select `pane` of this one stream without joins and subqueries, {_OR_STEPS}"
            yield Finding(what, hint, ("sql",))


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
        """Return the node of a query without groups and joins."""
        node = sql_node(name, self.query, inputs.tables)
        if node is None:
            hint = "read it in a document, which adds the steps before it"
            raise OptionError("a query that groups or joins is several steps", where=f"`{name}`", hint=hint)
        return node
