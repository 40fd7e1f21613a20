"""Check SQL expressions without a JVM: syntax, unknown columns and functions, columns outside aggregates.

sqlglot parses the expressions. The checks never reject an expression that Spark accepts: what sqlglot cannot
parse, or only a session can resolve, is left to Spark's analyzer when a run is planned.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.access.effort import check_effort
from headrace.errors import did_you_mean, nearest
from headrace.sql.functions import spark_functions
from headrace.sql.parsing import check_size, describe_fault, parse_statements, parse_tokens

if TYPE_CHECKING:
    from sqlglot import expressions as exp

_NOT_PARSED = re.compile(r">>>|\bx\s+'", re.IGNORECASE)
"""Valid in Spark, unknown to sqlglot: the unsigned shift, and a blank inside a binary literal."""
_UNIT_WORDS = """
    year years quarter quarters month months week weeks day days dayofyear hour hours minute minutes second
    seconds millisecond milliseconds microsecond microseconds yearofweek dayofweek doy dow
"""
_UNITS = frozenset(_UNIT_WORDS.split())
"""Units of functions such as `timestampadd(HOUR, ...)`, which sqlglot reads as columns."""
_NILADIC = frozenset(["current_time", "localtime"])
"""Functions that Spark also accepts without parentheses; sqlglot reads these as columns."""
_GRAMMAR = frozenset(["dateadd", "date_diff", "timediff", "timestampadd", "timestampdiff", "try_cast"])
"""Functions of Spark's grammar that its function registry does not list."""


_CLAUSES = ("from_", "joins", "where", "group", "having", "qualify", "order", "limit", "offset")
"""Clauses of a query, by their names in sqlglot, that an expression cannot have."""


@dataclass(frozen=True)
class ExpressionFault:
    """An error in an expression: the problem and a hint."""

    problem: str
    hint: str = ""
    word: str = ""
    """The name that is wrong."""
    column: int = 0
    """The column of a syntax error, counted from 1; 0 if it is unknown."""

    def find(self, expression: str) -> int | None:
        """Return the position of the error in the expression; None if it is unknown.

        >>> [fault] = check_expression("concat('id', id) || ids", ["id"])
        >>> fault.find("concat('id', id) || ids")
        20
        """
        if self.column:
            return self.column - 1
        if not self.word:
            return None
        from sqlglot.dialects import Spark

        tokens = Spark().tokenize(expression)
        names = (token for token in tokens if token.token_type.name not in ("STRING", "NUMBER"))
        return next((token.start for token in names if token.text == self.word), None)


def check_expression(text: str, columns: Collection[str] | None) -> Iterator[ExpressionFault]:
    """Yield the errors of an expression over `columns`; None if the columns are unknown.

    >>> [fault.problem for fault in check_expression("amout > 1 and nmod(id, 2) = 0", ["id", "amount"])]
    ['unknown function `nmod`', 'unknown column `amout`']
    >>> [fault.problem for fault in check_expression("(amount + 1", ["amount"])]
    ['syntax error in `(amount + 1`: expecting ) at column 11']
    """
    check_effort()
    tree = parse_expression(text)
    if isinstance(tree, ExpressionFault):
        yield tree
    elif tree is not None:
        yield from _unknown_functions(_function_names(text))
        yield from _unknown_columns(tree, columns)


def check_aggregate(
    text: str, columns: Collection[str] | None, keys: Collection[str]
) -> Iterator[ExpressionFault]:
    """Yield the errors of an aggregate, such as columns that are neither keys nor aggregated.

    >>> [fault.problem for fault in check_aggregate("sum(amount) / n", ["card", "amount", "n"], ["card"])]
    ['`n` is neither a key nor inside an aggregate function']
    """
    faults = list(check_expression(text, columns))
    yield from faults
    tree = parse_expression(text)
    if faults or tree is None or isinstance(tree, ExpressionFault):
        return
    grouped = {key.lower() for key in keys}
    for name in dict.fromkeys(_bare_columns(tree)):
        if name.lower() not in grouped:
            hint = f"write an aggregate such as max({name}), or add the column to key_by"
            what = f"`{name}` is neither a key nor inside an aggregate function"
            yield ExpressionFault(what, hint, name)


def check_query(query: str) -> Iterator[ExpressionFault]:
    """Yield the unknown functions of a query that sqlglot can parse; tables and columns are left to Spark.

    >>> [fault.problem for fault in check_query("select summ(amount) from tx")]
    ['unknown function `summ`']
    """
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError

    try:
        [tree] = parse_statements(query)
    except (SqlglotError, ValueError):  # not one statement
        return
    qualified = {call.name for dot in tree.find_all(exp.Dot) for call in dot.find_all(exp.Anonymous)}
    names = (call.name for call in tree.find_all(exp.Anonymous) if call.name not in qualified)
    yield from _unknown_functions(names)


def check_qualified(text: str, tables: Mapping[str, Collection[str] | None]) -> Iterator[ExpressionFault]:
    """Yield the errors of an expression whose columns are qualified, such as `left.amount > right.amount`.

    Args:
        text: the expression.
        tables: the columns of each qualifier; None if they are unknown.

    >>> sides = {"left": ["amount"], "right": ["fee"]}
    >>> [fault.problem for fault in check_qualified("left.amuont > fee", sides)]
    ['unknown column `left.amuont`', '`fee` has no qualifier']
    """
    faults = list(check_expression(text, None))
    yield from faults
    tree = parse_expression(text)
    if faults or tree is None or isinstance(tree, ExpressionFault):
        return
    for table, *rest in dict.fromkeys(column_parts(tree)):
        columns = {name.lower(): name for name in tables.get(table.lower()) or ()}
        if table.lower() not in tables:
            hint = " or ".join(f"{name}.{table}" for name in tables)
            yield ExpressionFault(f"`{table}` has no qualifier", f"write {hint}", table)
        elif rest and columns and rest[0].lower() not in columns:
            yield ExpressionFault(
                f"unknown column `{table}.{rest[0]}`", did_you_mean(rest[0], columns.values()), rest[0]
            )


def qualifiers(text: str) -> set[str]:
    """Return the qualifiers of the columns of an expression, in lower case; none if only Spark can parse it.

    >>> sorted(qualifiers("left.amount + right.fee"))
    ['left', 'right']
    """
    tree = parse_expression(text)
    if tree is None or isinstance(tree, ExpressionFault):
        return set()
    return {parts[0].lower() for parts in column_parts(tree) if len(parts) > 1}


@lru_cache(maxsize=64)
def parse_expression(text: str) -> exp.Expr | ExpressionFault | None:
    """Parse an expression; None if only Spark can parse it. The tree is shared: it must not be changed."""
    from sqlglot import Dialect  # a local import: it is half of the start-up time of a command
    from sqlglot.errors import SqlglotError

    spark = Dialect.get_or_raise("spark")
    try:
        tokens = spark.tokenize(f"select {text}")
        check_size(len(tokens))
        tree = parse_tokens(tokens, f"select {text}")[0]
    except SqlglotError as error:
        if _NOT_PARSED.search(text):
            return None
        fault = (getattr(error, "errors", None) or [{"description": str(error).splitlines()[0]}])[0]
        reason = describe_fault(fault)
        column = max(fault["col"] - len("select "), 1) if "col" in fault else 0
        position = f" at column {column}" if column else ""
        what = f"syntax error in `{text}`: {reason}{position}"
        return ExpressionFault(what, _hint_of_syntax(text), column=column)
    end = next((token for token in tokens if token.token_type.name == "SEMICOLON"), None)
    if end is not None:
        column = end.start - len("select ") + 1
        what = f"syntax error in `{text}`: expected one expression, got `;` at column {column}"
        return ExpressionFault(what, column=column)
    clause = next((clause for clause in _CLAUSES if tree.args.get(clause)), None)
    if clause is not None:
        word = clause.strip("_s").upper()
        return ExpressionFault(f"syntax error in `{text}`: expected one expression, got a clause {word}")
    return tree


def _hint_of_syntax(text: str) -> str:
    opened, closed = text.count("("), text.count(")")
    if opened != closed:
        return f"{opened} opening and {closed} closing parentheses"
    return ""


def _unknown_functions(names: Iterable[str]) -> Iterator[ExpressionFault]:
    known = spark_functions()
    for name in dict.fromkeys(names):
        if name.lower() not in known and name.lower() not in _GRAMMAR and not _session_has(name):
            near = nearest(name.lower(), known)
            yield ExpressionFault(
                f"unknown function `{name}`", f"did you mean `{near}`?" if near else "", name
            )


def _function_names(text: str) -> Iterator[str]:
    """Yield the names that are followed by a parenthesis and have no qualifier."""
    from sqlglot.dialects import Spark

    tokens = Spark().tokenize(text)
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        qualified = before is not None and before.text.upper() in (".", "WITHIN")
        if token.token_type.name == "VAR" and after.text == "(" and not qualified:
            yield token.text


def _session_has(function: str) -> bool:
    """True if this process has a SparkSession in which the user registered this function."""
    sql = sys.modules.get("pyspark.sql")
    session = sql.SparkSession.getActiveSession() if sql is not None else None
    return session is not None and session.catalog.functionExists(function)


def _unknown_columns(tree: exp.Expr, columns: Collection[str] | None) -> Iterator[ExpressionFault]:
    from sqlglot import expressions as exp

    if columns is None or tree.find(exp.Subquery, exp.Exists, exp.Table):
        return
    known = {name.lower() for name in columns}
    for name in dict.fromkeys(column for column, *_ in column_parts(tree)):
        if name.lower() not in known:
            yield ExpressionFault(f"unknown column `{name}`", did_you_mean(name, columns), name)


def column_parts(tree: exp.Expr) -> Iterator[tuple[str, ...]]:
    """Yield the parts of every column reference, lambda variables and keyword names left out."""
    from sqlglot import expressions as exp

    for column in tree.find_all(exp.Column):
        parts = tuple(part.name for part in column.parts)
        if not is_variable(column, parts[0]) and parts[0].lower() not in _UNITS | _NILADIC:
            yield parts


def is_variable(column: exp.Column, name: str) -> bool:
    """True if a column is a variable of a lambda around it, or the name of an argument."""
    from sqlglot import expressions as exp

    node: exp.Expr | None = column.parent
    while node is not None:
        if isinstance(node, exp.Lambda) and any(v.name.lower() == name.lower() for v in node.expressions):
            return True
        if isinstance(node, exp.Kwarg) and node.this is column:
            return True
        node = node.parent
    return False


def _bare_columns(tree: exp.Expr) -> Iterator[str]:
    """Yield the columns outside of aggregate functions; unknown functions are taken for aggregates."""
    from sqlglot import expressions as exp

    known = spark_functions()
    for column in tree.find_all(exp.Column):
        name = column.parts[0].name
        node: exp.Expr | None = column.parent
        while node is not None and not _aggregates(node, known):
            node = node.parent
        if node is None and not is_variable(column, name) and name.lower() not in _UNITS | _NILADIC:
            yield name


def _aggregates(node: exp.Expr, known: dict[str, bool]) -> bool:
    from sqlglot import expressions as exp

    if isinstance(node, exp.AggFunc | exp.Any | exp.Filter | exp.WithinGroup | exp.Window | exp.Subquery):
        return True
    if isinstance(node, exp.Anonymous):
        return known.get(node.name.lower(), True)
    return isinstance(node, exp.Func) and any(known.get(name.lower(), False) for name in node.sql_names())
