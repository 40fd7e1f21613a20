"""Types of SQL expressions over columns with declared types, derived by sqlglot without a JVM.

What sqlglot cannot derive has no type, and nothing is reported about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from headrace.sql.expression_check import ExpressionFault, is_variable, parse_expression

if TYPE_CHECKING:
    from sqlglot import expressions as exp

Types = Mapping[str, str]
"""The types of columns as Spark's DDL, by name in lower case."""
Family = Literal["text", "number"]
_DECLARED = "declared"
"""Marks the cast that gives a column its type."""


def type_of(expression: str, types: Types) -> str | None:
    """Return the type of an expression as DDL; None if it is unknown.

    >>> type_of("length(kind) * 2 as n", {"kind": "string"}), type_of("own(kind)", {"kind": "string"})
    ('INT', None)
    """
    from sqlglot import expressions as exp

    tree = _annotate(expression, types)
    if tree is None or tree.type is None or tree.is_type("unknown", "null"):
        return None
    if any(_is_text(each.this) for each in tree.find_all(exp.Sum, exp.Avg)):
        return None  # Spark's is a number, and sqlglot's is text
    return tree.type.sql("spark")


def family_of(kind: str | None) -> Family | None:
    """Return whether a type is text or a number; None for any other.

    >>> family_of("varchar(3)"), family_of("decimal(10,2)"), family_of("timestamp"), family_of(None)
    ('text', 'number', None, None)
    """
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError

    try:
        return None if kind is None else _family(exp.DataType.build(kind, dialect="spark"))
    except SqlglotError:
        return None


def check_types(expression: str, types: Types) -> Iterator[ExpressionFault]:
    """Yield the places where Spark casts text to numbers by itself.

    >>> types = {"kind": "string", "amount": "int"}
    >>> [fault.problem for fault in check_types("kind > 5 and amount > '5'", types)]
    ['`kind` is text and is compared with a number']
    >>> [fault.problem for fault in check_types("sum(kind)", types)]
    ['`sum` adds `kind`, which is text']
    >>> [fault.problem for fault in check_types("sum(cast(kind as int))", types)]
    []
    """
    from sqlglot import expressions as exp

    tree = _annotate(expression, types)
    if tree is None:
        return
    compared = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
    for aggregate in tree.find_all(exp.Sum, exp.Avg, bfs=False):
        if _is_text(aggregate.this):
            function, verb = ("sum", "adds") if isinstance(aggregate, exp.Sum) else ("avg", "averages")
            yield _fault(aggregate.this, f"`{function}` {verb} `{_text(aggregate.this)}`, which is text")
    for comparison in tree.find_all(*compared, bfs=False):
        left, right = comparison.left, comparison.right
        for side, other in ((left, right), (right, left)):
            if _is_text(side) and other.type is not None and _family(other.type) == "number":
                yield _fault(side, f"`{_text(side)}` is text and is compared with a number")


def _is_text(node: exp.Expr) -> bool:
    """True for text that is not a literal: the value of a literal shows whether it is a number."""
    from sqlglot import expressions as exp

    return node.type is not None and _family(node.type) == "text" and not isinstance(node, exp.Literal)


def _family(kind: exp.DataType) -> Family | None:
    from sqlglot import expressions as exp

    if kind.this in exp.DataType.TEXT_TYPES:
        return "text"
    return "number" if kind.this in exp.DataType.NUMERIC_TYPES else None


def _fault(node: exp.Expr, problem: str) -> ExpressionFault:
    from sqlglot import expressions as exp

    text, column = _text(node), node.find(exp.Column)
    hint = f"Spark casts it, and fails at text that is no number; write try_cast({text} as double)"
    return ExpressionFault(problem, hint, column.name if column is not None else "")


def _text(node: exp.Expr) -> str:
    """Return an expression as it was written, without the casts to declared types."""
    written: exp.Expr = node.transform(lambda each: each.this if each.meta.get(_DECLARED) else each)
    return written.sql("spark")


def _annotate(expression: str, types: Types) -> exp.Expr | None:
    """Parse an expression and derive the type of each of its parts; None if it cannot be parsed."""
    from sqlglot import expressions as exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types

    def declare(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or len(node.parts) > 1:
            return node
        if node.name.lower() not in types or is_variable(node, node.name):
            return node
        cast = exp.cast(node.copy(), types[node.name.lower()], dialect="spark")
        cast.meta[_DECLARED] = True
        return cast

    tree = parse_expression(expression)
    if not isinstance(tree, exp.Select):
        return None
    try:
        return annotate_types(tree.selects[0].transform(declare), dialect="spark")
    except SqlglotError:
        return None
