"""Facts about a SQL query: the tables that it reads, and whether it is stateful."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.errors import OptionError
from headrace.sql.foreign import foreign_forms
from headrace.sql.match_recognize.statement import SplitStatement, split_statement
from headrace.sql.parsing import describe_fault, parse_statements
from headrace.sql.refusals import refused_forms
from headrace.sql.shape import QueryShape

if TYPE_CHECKING:
    from sqlglot import expressions as exp


@dataclass(frozen=True)
class SqlFacts:
    """Facts about a query: the tables that it reads in order, its state and its `MATCH_RECOGNIZE`."""

    tables: tuple[str, ...]
    stateful: bool
    """True if it groups, joins or aggregates."""
    split: SplitStatement | None = None


def read(query: str, *, where: str) -> SqlFacts:
    """Return the facts of a query.

    >>> read("select country, count(*) n from tx group by country", where="report")
    SqlFacts(tables=('tx',), stateful=True, split=None)

    Raises:
        OptionError: the text is not a single query; with line and column.
    """
    split = split_statement(query, where=where)
    facts = _read(split.rest if split else query, where)
    if split is None:
        return facts
    inputs = [split.input_query.to_sql([])] if split.input_query is not None else []
    outer = "return the matches from this step and continue in the next one"
    before = "move the input query to a separate step"
    texts = [("a query over", split.rest, outer), *(("the input of", text, before) for text in inputs)]
    for name, text, hint in texts:
        inner = _read(text, where)
        if inner.stateful or len(_tables(text, where)) > 1:
            what = "groups, joins or aggregates" if inner.stateful else "reads another table"
            whole = f"{name} MATCH_RECOGNIZE can only select columns and rows; this one {what}"
            raise OptionError(whole, where=where, hint=hint)
        for fault in refused_forms(text, shape_of(text)):
            raise OptionError(fault.problem, where=where, hint=fault.hint)
    return SqlFacts(facts.tables, stateful=False, split=split)


def shape_of(query: str) -> QueryShape:
    """Return the shape of a query that has been read."""
    return QueryShape(_tree(query, ""))


def _read(query: str, where: str) -> SqlFacts:
    fault = next(foreign_forms(query), None)
    if fault is not None:
        raise OptionError(fault.problem, where=where, hint=fault.hint)
    tables = dict.fromkeys(_tables(query, where))
    shape = QueryShape(_tree(query, where))
    return SqlFacts(tuple(tables), bool(shape.joins or shape.groups))


def _tables(query: str, where: str) -> list[str]:
    """Return the tables that a query reads, with repetitions."""
    from sqlglot import expressions as exp

    tree = _tree(query, where)
    local = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    return [table.name for table in tree.find_all(exp.Table) if table.name and table.name not in local]


@lru_cache(maxsize=8)
def _tree(query: str, where: str) -> exp.Query:
    from sqlglot import expressions as exp  # a local import: it is half of the start-up time of a command
    from sqlglot.errors import SqlglotError

    try:
        statements = parse_statements(query)
    except SqlglotError as error:
        faults = getattr(error, "errors", None) or [{"description": str(error), "line": 1, "col": 1}]
        fault = faults[0]
        position = f"line {fault['line']}, column {fault['col']}"
        raise OptionError(f"SQL syntax error at {position}: {describe_fault(fault)}", where=where) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise OptionError(
            "expected one select query", where=where, hint="write `select ... from <stream> ...`"
        )
    return statements[0]
