"""A Spark SQL query over streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from headrace.errors import OptionError, did_you_mean
from headrace.sql import facts as sql_facts
from headrace.steps.base import Node, Ref
from headrace.steps.grammar.problems import collect_errors, raise_at
from headrace.steps.grammar.step import Inputs, StepModel
from headrace.steps.grammar.values import Expected, SqlText
from headrace.steps.patterns.match_recognize import RowPattern


@dataclass(frozen=True)
class Sql(Node):
    """A Spark SQL query over streams, each under the name that the query gives it."""

    query: str
    tables: tuple[tuple[str, Ref], ...]
    groups: bool = False
    verb: ClassVar[str] = "sql"

    @property
    def stateful(self) -> bool:
        return self.groups

    @property
    def inputs(self) -> tuple[Ref, ...]:
        return tuple(ref for _, ref in self.tables)


def sql_node(
    name: str,
    query: str,
    known: Mapping[str, Ref],
    *,
    timed: Mapping[str, Ref] | None = None,
    where: str = "",
) -> Sql | RowPattern:
    """A node for a query, its tables looked up among the known streams."""
    facts = sql_facts.read(query, where=where or f"`{name}`")
    missing = [table for table in facts.tables if table not in known]
    if missing:
        raise OptionError(
            f"the query reads `{missing[0]}`, which is no stream of this pipeline",
            where=where or f"`{name}`",
            hint=did_you_mean(missing[0], known),
        )
    if facts.split is not None:
        found = facts.split
        ref = (timed or {}).get(found.table, known[found.table])
        return RowPattern(name, ref, found.table, query, found.rest, found.clause, found.input_query)
    return Sql(name, query, tuple((table, known[table]) for table in facts.tables), facts.groups)


class SqlModel(StepModel):
    """`sql` in a document: a query over its streams, with or without `MATCH_RECOGNIZE`."""

    node = (Sql, RowPattern)
    key = "sql"
    query: Annotated[SqlText, Expected("a query in Spark SQL")] = Field(
        alias="sql",
        description="A query in Spark SQL over the streams of the document, or over `this`, the stream of `from`",
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
