"""Checks of a query over the tables of a job, before Spark sees it: one SELECT over known tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.access.sql import find_problem, words_of
from headrace.connectors.flatten import quote_name
from headrace.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from sqlglot import expressions as exp

WHERE = "query"
_EXAMPLE = "such as SELECT * FROM totals WHERE n > 5"
_COMMANDS = ("INSERT", "TRANSFORM", "MAP", "REDUCE")
"""Words by which a statement that begins like a query writes rows or starts a program."""


@dataclass(frozen=True)
class TableQuery:
    """A query over tables, and the places of their names in it."""

    text: str
    tables: tuple[tuple[int, int, str, bool], ...]
    """Start, end and name of each table, and whether the query gives it another name."""

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return tuple(dict.fromkeys(name for _, _, name, _ in self.tables))

    def over(self, views: Mapping[str, str]) -> str:
        """Return the text of the query with the views that stand for its tables."""
        text = self.text
        for start, end, name, renamed in sorted(self.tables, reverse=True):
            written = text[start:end].strip("`")
            alias = "" if renamed else f" AS {quote_name(written)}"
            text = f"{text[:start]}{quote_name(views[name])}{alias}{text[end:]}"
        return text


def read_query(text: str, known: Iterable[str]) -> TableQuery:
    """Check a query.

    >>> read_query("select n from Totals t", ["totals"]).over({"totals": "v1"})
    'select n from `v1` t'

    Raises:
        OptionError: it is not one query, reads another table, or calls a function that reaches the machine.
    """
    text = text.strip().removesuffix(";")
    if problem := find_problem(text):
        raise OptionError(problem, where=WHERE)
    words = words_of(text)
    if not words or words[0] not in ("SELECT", "WITH", "("):
        raise OptionError("expected a query", where=WHERE, hint=_EXAMPLE)
    if command := next((word for word in _COMMANDS if word in words), None):
        raise OptionError(f"{command} is not accepted in a query", where=WHERE, hint=_EXAMPLE)
    tree = _parse(text)
    names = {name.lower(): name for name in known}
    return TableQuery(text, tuple(_tables(tree, text, names)))


def _parse(text: str) -> exp.Expr:
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError

    from headrace.sql.parsing import describe_fault, parse_statements

    try:
        statements = parse_statements(text)
    except SqlglotError as error:
        faults = getattr(error, "errors", None)
        reason = describe_fault(faults[0]) if faults else str(error)
        raise OptionError(f"SQL syntax error: {reason}", where=WHERE, hint=_EXAMPLE) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise OptionError("expected one query", where=WHERE, hint=_EXAMPLE)
    return statements[0]


def _tables(tree: exp.Expr, text: str, names: Mapping[str, str]) -> Iterable[tuple[int, int, str, bool]]:
    from sqlglot import expressions as exp

    common = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        identifier = table.this
        if not isinstance(identifier, exp.Identifier):
            raise OptionError("table functions are not accepted", where=WHERE, hint=_EXAMPLE)
        qualified = ".".join(part.name for part in table.parts)
        if qualified.lower() in common:
            continue
        name = names.get(qualified.lower())
        if name is None:
            raise OptionError(
                f"unknown table `{qualified}`", where=WHERE, hint=did_you_mean(qualified, names.values())
            )
        start, end = identifier.meta["start"], identifier.meta["end"] + 1
        assert text[start:end].strip("`").lower() == name.lower(), "the place of a name is that of its text"
        yield start, end, name, bool(table.alias)
