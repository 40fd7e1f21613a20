"""Check the Spark SQL expressions of steps without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headrace.sql.expression_check import (
    ExpressionFault,
    check_aggregate,
    check_expression,
    check_qualified,
)
from headrace.steps.expressions import Expression, Named, names_of
from headrace.steps.facts import output_name, plain_column
from headrace.steps.traits import Finding

Columns = Sequence[str] | None


def check_expressions(
    expressions: Iterable[Expression | None], columns: Columns, key: str
) -> Iterator[Finding]:
    """Yield the errors of SQL expressions over `columns` (None: unknown); `key` is the document key."""
    for expression in expressions:
        if isinstance(expression, str):
            yield from _findings(check_expression(expression, columns), expression, key)


def check_named(named: Named, columns: Columns, key: str) -> Iterator[Finding]:
    """Yield the errors of named expressions over `columns`."""
    for name, expression in named:
        if isinstance(expression, str):
            yield from _findings(check_expression(expression, columns), expression, key, name or expression)


def check_pair_expressions(
    expressions: Iterable[Expression | None], sides: Mapping[str, Columns], key: str
) -> Iterator[Finding]:
    """Yield the errors of expressions over pairs of rows, whose columns are qualified with a side."""
    yield from check_named_pairs((("", expression) for expression in expressions if expression), sides, key)


def check_named_pairs(
    named: Iterable[tuple[str, Expression]], sides: Mapping[str, Columns], key: str
) -> Iterator[Finding]:
    """Yield the errors of named expressions over pairs of rows."""
    for name, expression in named:
        if isinstance(expression, str):
            yield from _findings(check_qualified(expression, sides), expression, key, name)


def check_columns(named: Named, columns: Columns, key: str) -> Iterator[Finding]:
    """Yield the errors of named expressions, which can refer to the names of each other."""
    new = (name or output_name(expression) for name, expression in named if not _is_own(name, expression))
    yield from check_named(named, None if columns is None else (*columns, *filter(None, new)), key)


def _is_own(name: str, expression: Expression) -> bool:
    """True if an item passes a column on under its own name, so that it makes no new name known."""
    return plain_column(expression) == (name or output_name(expression)) is not None


def check_aggregates(aggregates: Named, keys: Named, columns: Columns) -> Iterator[Finding]:
    """Yield the errors of aggregates, such as columns that are neither keys nor aggregated."""
    grouped = (*names_of(keys), *names_of(aggregates), *(key for _, key in keys if isinstance(key, str)))
    known = None if columns is None else (*columns, *grouped)
    for name, aggregate in aggregates:
        if isinstance(aggregate, str):
            yield from _findings(check_aggregate(aggregate, known, grouped), aggregate, "aggregate", name)


def _findings(
    faults: Iterable[ExpressionFault], expression: str, key: str, item: str = ""
) -> Iterator[Finding]:
    for fault in faults:
        yield Finding(fault.problem, fault.hint, (key,), item, fault.find(expression))
