"""What a plan needs to know of a SQL text without running it: the tables it reads, and whether it keeps state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.errors import OptionError
from headrace.sql.statement import Cut, cut

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_TOKEN = re.compile(r"<Token .*?text: (.*?), line: .*?>")


@dataclass(frozen=True)
class SqlFacts:
    """The tables a query reads, in order, and whether it groups, joins or de-duplicates; its row pattern, cut out."""

    tables: tuple[str, ...]
    groups: bool
    cut: Cut | None = None


def read(query: str, *, where: str) -> SqlFacts:
    """Read the facts off a query.

    >>> read("select country, count(*) n from tx group by country", where="report")
    SqlFacts(tables=('tx',), groups=True, cut=None)

    Raises:
        OptionError: the text isn't one query; says line and column.
    """
    found = cut(query, where=where)
    facts = _read(found.rest if found else query, where)
    if found is None:
        return facts
    if facts.groups or len(_tables(found.rest, where)) > 1:
        what = "groups, joins or counts them" if facts.groups else "reads another table too"
        raise OptionError(
            f"around MATCH_RECOGNIZE the query may choose columns and rows of the matches; this one {what}",
            where=where,
            hint="let this step give the matches, and go on in the next",
        )
    if found.chosen is not None and _read(found.chosen.selecting([]), where).groups:
        raise OptionError(
            "before MATCH_RECOGNIZE the query may choose columns and rows; this one groups, joins or counts them",
            where=where,
            hint="make what stands there a step of its own",
        )
    return SqlFacts(facts.tables, groups=False, cut=found)


def _read(query: str, where: str) -> SqlFacts:
    from sqlglot import expressions as exp

    state = (exp.Group, exp.AggFunc, exp.Join, exp.Distinct, exp.Window)
    tables = dict.fromkeys(_tables(query, where))
    return SqlFacts(tuple(tables), _tree(query, where).find(*state) is not None)


def _tables(query: str, where: str) -> list[str]:
    """The tables that a query reads, each as often as it does."""
    from sqlglot import expressions as exp

    tree = _tree(query, where)
    local = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    return [table.name for table in tree.find_all(exp.Table) if table.name and table.name not in local]


@lru_cache(maxsize=8)
def _tree(query: str, where: str) -> exp.Query:
    import sqlglot  # half of the start-up time of a command, and most pipelines hold no SQL
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError

    try:
        statements = [
            statement for statement in sqlglot.parse(query, dialect="spark") if statement is not None
        ]
    except SqlglotError as error:
        faults = getattr(error, "errors", None) or [{"description": str(error), "line": 1, "col": 1}]
        fault = faults[0]
        said = _TOKEN.sub(r"`\1`", fault["description"])  # sqlglot shows its tokens' insides
        raise OptionError(
            f"the SQL can't be read at line {fault['line']}, column {fault['col']}: {said}",
            where=where,
        ) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise OptionError(
            "expected one select query", where=where, hint="write `select ... from <stream> ...`"
        )
    return statements[0]
