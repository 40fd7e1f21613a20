"""Facts about a SQL query: the tables that it reads, and whether it is stateful."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.errors import OptionError
from headrace.sql.match_recognize.statement import SplitStatement, split_statement
from headrace.sql.parsing import describe_fault, parse_statements

if TYPE_CHECKING:
    from sqlglot import expressions as exp


@dataclass(frozen=True)
class SqlFacts:
    """Facts about a query: the tables that it reads in order, its state and its `MATCH_RECOGNIZE`."""

    tables: tuple[str, ...]
    stateful: bool
    """True if it groups, joins, aggregates or deduplicates."""
    joins: bool = False
    """True if it joins streams."""
    split: SplitStatement | None = None


def read(query: str, *, where: str) -> SqlFacts:
    """Return the facts of a query.

    >>> read("select country, count(*) n from tx group by country", where="report")
    SqlFacts(tables=('tx',), stateful=True, joins=False, split=None)

    Raises:
        OptionError: the text is not a single query; with line and column.
    """
    split = split_statement(query, where=where)
    facts = _read(split.rest if split else query, where)
    if split is None:
        return facts
    if facts.stateful or len(_tables(split.rest, where)) > 1:
        what = "groups, joins or aggregates" if facts.stateful else "reads another table"
        raise OptionError(
            f"a query over MATCH_RECOGNIZE can only select columns and rows of the matches; this one {what}",
            where=where,
            hint="return the matches from this step and continue in the next one",
        )
    if split.input_query is not None and _read(split.input_query.to_sql([]), where).stateful:
        raise OptionError(
            "the input of MATCH_RECOGNIZE can only select columns and rows; this one groups, joins or "
            "aggregates",
            where=where,
            hint="move the input query to a separate step",
        )
    return SqlFacts(facts.tables, stateful=False, split=split)


def has_outer_join(query: str) -> bool:
    """Return True if a query has a left, right, full, semi or anti join of streams.

    >>> has_outer_join("select * from a left join b on a.id = b.id"), has_outer_join("select * from a")
    (True, False)
    """
    from sqlglot import expressions as exp

    joins = _tree(query, "").find_all(exp.Join)
    return any(join.side or join.kind in ("SEMI", "ANTI") for join in joins if join.find(exp.Table))


def sorts_rows(query: str) -> bool:
    """Return True if a query orders its rows.

    >>> sorts_rows("select * from tx order by ts"), sorts_rows("select max(n) over (order by ts) from tx")
    (True, False)
    """
    from sqlglot import expressions as exp

    return any(isinstance(order.parent, exp.Query) for order in _tree(query, "").find_all(exp.Order))


def _read(query: str, where: str) -> SqlFacts:
    from sqlglot import expressions as exp

    state = (exp.Group, exp.AggFunc, exp.Join, exp.Distinct, exp.Window)
    tables = dict.fromkeys(_tables(query, where))
    tree = _tree(query, where)
    joins = any(join.find(exp.Table) for join in tree.find_all(exp.Join))
    return SqlFacts(tuple(tables), tree.find(*state) is not None, joins)


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
