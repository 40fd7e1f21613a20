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
    tree = _annotate(expression, types)
    if tree is not None:
        yield from _faults(tree)


def check_query_types(query: str, tables: Mapping[str, Types]) -> Iterator[ExpressionFault]:
    """Yield the places of a query where Spark casts text to numbers; queries within queries are left out.

    >>> tables = {"tx": {"kind": "string"}, "ids": {"kind": "int"}}
    >>> [fault.problem for fault in check_query_types("select sum(kind) from tx", tables)]
    ['`sum` adds `kind`, which is text']
    >>> query = "select ids.kind from tx join ids on tx.kind = ids.kind"
    >>> [fault.problem for fault in check_query_types(query, tables)]
    ['`tx.kind` is text and is compared with a number']
    """
    from sqlglot import expressions as exp
    from sqlglot import parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(query, dialect="spark")
        names = _table_types(tree, tables)
        if names is None:
            return

        def declare(node: exp.Expr) -> exp.Expr:
            kind = _declared_type(node, names) if isinstance(node, exp.Column) else None
            return node if kind is None else _declare(node, kind)

        annotated = _annotate_tree(tree.transform(declare))
    except (SqlglotError, RecursionError):
        return
    yield from _faults(annotated)


def _table_types(tree: exp.Expr, tables: Mapping[str, Types]) -> dict[str, Types] | None:
    """Return the types of the tables of a query, by alias; None if names have more than one scope."""
    from sqlglot import expressions as exp

    if not isinstance(tree, exp.Select) or len(list(tree.find_all(exp.Select))) > 1 or tree.find(exp.Lambda):
        return None
    known = {name.lower(): types for name, types in tables.items()}
    return {
        table.alias_or_name.lower(): known.get(table.name.lower(), {}) for table in tree.find_all(exp.Table)
    }


def _declared_type(column: exp.Column, tables: Mapping[str, Types]) -> str | None:
    """Return the type of a column; None if it is unknown, or a field of a struct."""
    name, table = column.name.lower(), column.table.lower()
    if len(column.parts) > 2 or (table and table not in tables):
        return None
    owners = [tables[table]] if table else list(tables.values())
    # A table without types may have the column, too.
    return owners[0].get(name) if len(owners) == 1 else _only_type(name, owners)


def _only_type(name: str, owners: list[Types]) -> str | None:
    if not all(owners):
        return None
    kinds = [types[name] for types in owners if name in types]
    return kinds[0] if len(kinds) == 1 else None


def _faults(tree: exp.Expr) -> Iterator[ExpressionFault]:
    from sqlglot import expressions as exp

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
    for arithmetic in tree.find_all(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, bfs=False):
        for side in (arithmetic.left, arithmetic.right):
            if side.type is not None and side.type.this in _nested_types():
                kind = side.type.this.value.lower()
                problem = f"`{_text(side)}` is of type {kind}, and `{_text(arithmetic)}` needs a number"
                column = side.find(exp.Column) or tree.find(exp.Column)
                hint = "Spark refuses it; compute with an element, such as items[0]"
                yield ExpressionFault(problem, hint, column.name if column is not None else "")


def _nested_types() -> set[exp.DType]:
    from sqlglot import expressions as exp

    return {exp.DataType.Type.ARRAY, exp.DataType.Type.MAP, exp.DataType.Type.STRUCT}


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

    def declare(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or len(node.parts) > 1:
            return node
        if node.name.lower() not in types or is_variable(node, node.name):
            return node
        return _declare(node, types[node.name.lower()])

    tree = parse_expression(expression)
    if not isinstance(tree, exp.Select):
        return None
    try:
        return _annotate_tree(tree.selects[0].transform(declare))
    except SqlglotError:
        return None


def _declare(column: exp.Expr, kind: str) -> exp.Expr:
    from sqlglot import expressions as exp

    cast = exp.cast(column.copy(), kind, dialect="spark")
    cast.meta[_DECLARED] = True
    return cast


def _annotate_tree(tree: exp.Expr) -> exp.Expr:
    from sqlglot.optimizer.annotate_types import annotate_types

    return annotate_types(tree, dialect="spark")
